"""`lake-assets grants`: who may read which tables, by what feeds declare."""

import json
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from lake_assets.catalog.grants import Standing, by_principal
from lake_assets.catalog.s3_policies import policies
from lake_assets.catalog.sync import look_at_grants
from lake_assets.catalog.wanted import wanted_tables
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import JsonOption, LakeOption
from lake_assets.feeds.load import load_feeds
from lake_assets.settings.load import load_settings

app = typer.Typer(
    help="Show who may read which tables, and compare that with the catalogue.",
    no_args_is_help=True,
)


@app.command()
def show(
    *,
    s3_policies: Annotated[
        bool,
        typer.Option(
            "--s3-policies",
            help="Print for each principal the policies of AWS that let it read its tables' files, "
            "as JSON.",
        ),
    ] = False,
    lake: LakeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who may read which tables that are there now, by `grants` of the feeds.

    No catalogue is asked.
    """
    settings = load_settings(lake=lake)
    feeds = load_feeds(settings.feeds)
    found = by_principal(wanted_tables(settings, feeds))
    if s3_policies:
        print(json.dumps({name: policies(tables) for name, tables in found.items()}, indent=2))
        return
    if as_json:
        names = {name: [table.full_name for table in tables] for name, tables in found.items()}
        print(json.dumps(names))
        return
    if not found:
        some = any(feed.grants for feed in feeds)
        none_yet = "no table is there yet that a feed grants; they come with its streams"
        stdout.print(
            none_yet if some else "no feed grants anything; declare `grants` in its file",
            soft_wrap=True,
        )
        return
    shown = Table()
    shown.add_column("principal", overflow="fold")
    shown.add_column("may read", overflow="fold")
    for name, tables in found.items():
        shown.add_row(Text(name), ", ".join(table.full_name for table in tables))
    stdout.print(shown)


@app.command()
def verify(*, lake: LakeOption = None, as_json: JsonOption = False) -> None:
    """Compare what feeds grant with what the catalogue says; ends with 1 if that differs.

    What others granted is told, and is no difference. `lake-assets catalog sync` brings it to what
    is declared.
    """
    settings = load_settings(lake=lake)
    found = look_at_grants(settings, load_feeds(settings.feeds))
    wrong = [one for one in found if one.missing or one.surplus]
    if as_json:
        print(json.dumps([_as_json(one) for one in found]))
    else:
        for one in found:
            _tell(one)
        stdout.print(
            f"{len(found)} tables are granted, {len(wrong)} of them not as declared",
            highlight=False,
        )
    if wrong:
        raise typer.Exit(1)


def _tell(one: Standing) -> None:
    for names, words in (
        (one.missing, "may not read it yet"),
        (one.surplus, "may read it still"),
        (one.others, "may read it, by somebody else's grant"),
    ):
        if names:
            said = f"{one.table.full_name}: {', '.join(names)} {words}"
            stdout.print(said, markup=False, highlight=False, soft_wrap=True)


def _as_json(one: Standing) -> dict[str, object]:
    return {
        "name": one.table.full_name,
        "granted": [*one.granted],
        "missing": [*one.missing],
        "surplus": [*one.surplus],
        "others": [*one.others],
    }
