"""`lake-assets grants`: who may read which tables, by what feeds declare."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from lake_assets.catalog.entries import CatalogTable
from lake_assets.catalog.grants import Standing, by_principal
from lake_assets.catalog.s3_policies import policies
from lake_assets.catalog.sync import look_at_grants
from lake_assets.catalog.wanted import wanted_tables
from lake_assets.cli.answer import Problem, tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
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
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who may read which tables that are there now, by `grants` of the feeds.

    No catalogue is asked.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    feeds = load_feeds(settings.feeds)
    found = by_principal(wanted_tables(settings, feeds))
    result = {
        name: policies(tables) if s3_policies else [table.full_name for table in tables]
        for name, tables in found.items()
    }
    if s3_policies and not as_json:
        print(json.dumps(result, indent=2))  # AWS' own, to be put into a file
        return
    is_declared = any(feed.grants for feed in feeds)
    tell("grants show", result, as_json=as_json, show=lambda: _show(found, is_declared=is_declared))


def _show(found: Mapping[str, Sequence[CatalogTable]], *, is_declared: bool) -> None:
    if not found:
        none_yet = "no table is there yet that a feed grants; they come with its streams"
        stdout.print(
            none_yet if is_declared else "no feed grants anything; declare `grants` in its file",
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
def verify(
    *,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare what feeds grant with what the catalogue says; ends with 1 if that differs.

    What others granted is told, and is no difference. `lake-assets catalog sync` brings it to what
    is declared.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    found = look_at_grants(settings, load_feeds(settings.feeds))
    wrong = [one for one in found if one.missing or one.surplus]
    problems = [
        Problem(
            what=one.table.full_name,
            fact="is not granted as declared",
            next_step="Run `lake-assets catalog sync`",
            is_told=not as_json,
        )
        for one in wrong
    ]

    def show_standing() -> None:
        for one in found:
            _tell(one)
        words = f"{len(found)} tables are granted, {len(wrong)} of them not as declared"
        stdout.print(words, highlight=False)

    tell("grants verify", list(map(_as_json, found)), problems, as_json=as_json, show=show_standing)


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
