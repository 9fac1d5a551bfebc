"""`lake-assets catalog`: the lake's tables in the catalogue of the settings."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from lake_assets.catalog.entries import CatalogTable
from lake_assets.catalog.sync import Synced, registered_tables
from lake_assets.catalog.sync import sync as bring_up_to_date
from lake_assets.cli.answer import ExitCode, Problem, tell
from lake_assets.cli.confirm import DryRunOption
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import FeedsOption, HomeOption, JsonOption, LakeOption
from lake_assets.feeds.load import load_feeds
from lake_assets.settings.load import load_settings

app = typer.Typer(
    help="Register the lake's tables in Unity Catalog, Glue or Hive, and show what is registered.",
    no_args_is_help=True,
)


@app.command()
def sync(
    *,
    dry_run: DryRunOption = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over",
            help="Have also entries that another lake registered under the names of these tables, "
            "such as the one that this lake was restored from.",
        ),
    ] = False,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Register tables that are new, correct those that changed, take out those that are gone.

    Only entries are touched, never files, and only entries of this lake. Ends with 4 if a name is
    somebody else's.
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    done = bring_up_to_date(
        settings, load_feeds(settings.feeds), take_over=take_over, dry_run=dry_run
    )
    left_alone = [
        Problem(what=one.name, fact=f"left alone: {one.why}", exit_code=ExitCode.BLOCKED)
        for one in done.conflicts
    ]
    tell(
        "catalog sync",
        {**_as_json(done), "is_dry_run": dry_run},
        left_alone,
        as_json=as_json,
        show=lambda: _show(done, is_dry_run=dry_run),
    )


def _show(done: Synced, *, is_dry_run: bool) -> None:
    for action in done.actions:
        words = f"{action.do} {action.name}: {action.why}"
        stdout.print(words, markup=False, highlight=False, soft_wrap=True)
    for one in done.grants:
        for how, names in (("grant", one.missing), ("revoke", one.surplus)):
            if names:
                words = f"{how} {one.table.full_name}: {', '.join(names)}"
                stdout.print(words, markup=False, highlight=False, soft_wrap=True)
    stdout.print(
        f"{done.catalog}: {len(done.actions)} {'to do' if is_dry_run else 'done'}, "
        f"{done.unchanged} as they should be, {len(done.conflicts)} left alone",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _as_json(done: Synced) -> dict[str, object]:
    return {
        "catalog": done.catalog,
        "actions": [
            {"do": str(action.do), "name": action.name, "why": action.why}
            for action in done.actions
        ],
        "conflicts": [{"name": one.name, "why": one.why} for one in done.conflicts],
        "unchanged": done.unchanged,
        "grants": [
            {"name": one.table.full_name, "grant": [*one.missing], "revoke": [*one.surplus]}
            for one in done.grants
        ],
    }


@app.command()
def show(
    *,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show which of the lake's tables the catalogue has, and what it says of them."""
    found = registered_tables(load_settings(lake=lake, home=home, feeds=feeds_folder))
    result = [_table_as_json(table) for table in found]
    tell("catalog show", result, as_json=as_json, show=lambda: _show_registered(found))


def _show_registered(found: Sequence[CatalogTable]) -> None:
    if not found:
        stdout.print("no table of this lake is registered; run `lake-assets catalog sync`")
        return
    shown = Table()
    shown.add_column("table", overflow="fold")
    shown.add_column("columns", justify="right", no_wrap=True)
    shown.add_column("comes from", overflow="fold")
    shown.add_column("location", overflow="fold")
    for table in found:
        texts = (table.full_name, str(len(table.columns)), table.comes_from, table.location)
        shown.add_row(*map(Text, texts))  # a pattern of topics has brackets
    stdout.print(shown)


def _table_as_json(table: CatalogTable) -> dict[str, object]:
    return {
        "name": table.full_name,
        "location": table.location,
        "comment": table.comment,
        "comes_from": table.comes_from,
        "columns": [
            {"name": one.name, "type": one.type, "comment": one.comment} for one in table.columns
        ],
        "properties": dict(table.properties),
    }
