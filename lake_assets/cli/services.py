"""`lake-assets services`: the embedded broker and registry, started, looked at and stopped."""

import json
from typing import Annotated

import typer
from rich.table import Table

from lake_assets.cli.console import stderr, stdout
from lake_assets.feeds.load import load_feeds
from lake_assets.services import control
from lake_assets.services.feed_topics import create_topics
from lake_assets.settings.load import load_settings

app = typer.Typer(
    name="services",
    help="Start, show and stop the embedded Kafka broker and schema registry.",
    no_args_is_help=True,
)


@app.command()
def up() -> None:
    """Start Kafka and the schema registry, and wait until both answer; create the feeds' topics.

    What no feed needs is left out. They go on after this command ends, keep their data
    in the lake's home, and come back on the same ports. What LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS or
    LAKE_ASSETS_REGISTRY_URL name is used as it is; nothing is started in its place.
    """
    settings = load_settings()
    feeds = load_feeds(settings.feeds)
    endpoints = control.up(settings, feeds, console=stderr)
    create_topics(settings, endpoints, feeds)
    kafka = endpoints.kafka or "not started: no feed needs one"
    stdout.print(f"kafka     {kafka}", highlight=False, soft_wrap=True)
    registry = endpoints.registry or "not started: no feed needs one"
    stdout.print(f"registry  {registry}", highlight=False, soft_wrap=True)


@app.command()
def status(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Show whether Kafka and the schema registry answer, and where."""
    services = control.status(load_settings())
    if as_json:
        print(json.dumps(_as_json(services)))
        return
    table = Table("service", "state", "process")
    # Folded, never cut short: both are there to be copied.
    table.add_column("address", overflow="fold")
    table.add_column("log", overflow="fold")
    for name, service in (("kafka", services.kafka), ("registry", services.registry)):
        pid = str(service.pid or "")
        table.add_row(name, service.state, pid, service.address, str(service.log or ""))
    stdout.print(table)


@app.command()
def down() -> None:
    """Stop the embedded services of this home, and nothing else. Their data stays."""
    control.down(load_settings())


def _as_json(found: control.ServicesStatus) -> dict[str, object]:
    """Addresses first: null where nothing answers."""
    both = {"kafka": found.kafka, "registry": found.registry}
    details = {
        name: {
            "state": service.state,
            "pid": service.pid,
            "log": str(service.log) if service.log else None,
        }
        for name, service in both.items()
    }
    return {name: service.address for name, service in both.items()} | {"services": details}
