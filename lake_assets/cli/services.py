"""`lake-assets services`: the embedded broker and registry, started, looked at and stopped."""

from collections.abc import Mapping

import typer
from rich.table import Table

from lake_assets.cli.answer import Problem, tell
from lake_assets.cli.console import stderr, stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption
from lake_assets.feeds.load import load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.services import control
from lake_assets.services.asked import Asked, ask_services
from lake_assets.services.control import State
from lake_assets.services.feed_topics import create_topics
from lake_assets.settings.load import load_settings

app = typer.Typer(
    name="services",
    help="Start, show and stop the embedded Kafka broker and schema registry.",
    no_args_is_help=True,
)


@app.command()
def up(
    *,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Start Kafka and the schema registry, and wait until both answer; create the feeds' topics.

    What no feed needs is left out. They go on after this command ends, keep their data
    in the lake's home, and come back on the same ports. What LAKE_ASSETS_KAFKA_BOOTSTRAP_SERVERS or
    LAKE_ASSETS_REGISTRY_URL name is used as it is; nothing is started in its place.
    """
    settings = load_settings(home=home, feeds=feeds_folder)
    feeds = load_feeds(settings.feeds)
    endpoints = control.up(settings, feeds, console=stderr)
    create_topics(settings, endpoints, feeds)
    result = {"kafka": endpoints.kafka or None, "registry": endpoints.registry or None}
    tell("services up", result, as_json=as_json, show=lambda: _show_addresses(endpoints))


@app.command()
def status(
    *,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask Kafka and the schema registry, yours as well as the embedded, and show what they say.

    Each is sent a request. Ends with 1 if one that a feed needs does not answer.
    """
    settings = load_settings(home=home, feeds=feeds_folder)
    found = ask_services(settings, load_feeds(settings.feeds))
    problems = [Problem.of(one.problem) for one in found.values() if one.problem is not None]
    result = {name: _as_json(one) for name, one in found.items()}
    tell("services status", result, problems, as_json=as_json, show=lambda: _show(found))


@app.command()
def down(
    *,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Stop the embedded services of this home, and nothing else. Their data stays."""
    settings = load_settings(home=home, feeds=feeds_folder)
    before = control.status(settings)
    control.down(settings)
    running = (State.RUNNING, State.SILENT)
    services = {"kafka": before.kafka, "registry": before.registry}
    stopped = [name for name, service in services.items() if service.state in running]
    words = f"{' and '.join(stopped)} stopped" if stopped else "nothing ran"
    tell("services down", {"stopped": stopped}, as_json=as_json, show=lambda: stdout.print(words))


def _show_addresses(endpoints: Endpoints) -> None:
    for name, address in (("kafka", endpoints.kafka), ("registry", endpoints.registry)):
        words = f"{name:<9} {address or 'not started: no feed needs one'}"
        stdout.print(words, highlight=False, soft_wrap=True)


def _show(found: Mapping[str, Asked]) -> None:
    table = Table("service", "state", "answers", "process")
    # Folded, never cut short: both are there to be copied.
    table.add_column("address", overflow="fold")
    table.add_column("log", overflow="fold")
    for name, one in found.items():
        answers = "yes" if one.answers else "no" if one.is_needed else "not needed"
        log, pid = str(one.log or ""), str(one.pid or "")
        table.add_row(name, one.state, answers, pid, one.address, log)
    stdout.print(table)


def _as_json(one: Asked) -> dict[str, object]:
    return {
        "state": one.state,
        "address": one.address,
        "answers": one.answers,
        "is_needed": one.is_needed,
        "pid": one.pid,
        "log": one.log,
    }
