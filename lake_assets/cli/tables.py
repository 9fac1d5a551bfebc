"""`lake-assets tables`: what is in the lake."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.filesize import decimal
from rich.table import Table

from lake_assets.backup.lake_tables import tables_in
from lake_assets.backup.versions_then import TableThen, table_at
from lake_assets.cli.answer import tell
from lake_assets.cli.backup_places import moment_of
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    LakeOption,
    endpoints_if_any,
    pick_feed,
    pick_feeds,
)
from lake_assets.delta.catalog import tables_of
from lake_assets.model.cron import next_tick_in_words
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer
from lake_assets.settings.load import load_settings
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.overview import TableOverview, overview


def tables(
    *,
    at: Annotated[
        str | None,
        typer.Option(
            "--at",
            help="What they held then: a time (UTC, 2026-11-24T12:00), or a version's number.",
            show_default="now",
        ),
    ] = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every table: rows, files, bytes, last commit, and how many rows it lags behind.

    Bronze lags behind the topic, silver and quarantine behind bronze, gold behind silver. The log
    of batches and refreshes is that of all feeds. With `--at`, the version of each table then, its
    rows, and whether it can still be read: maintenance keeps versions for an hour unless told
    otherwise (LAKE_ASSETS_MAINTENANCE_KEEP_HOURS).
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    if at is not None:
        _show_then(settings, moment_of(at), feed, as_json=as_json)
        return
    endpoints = endpoints_if_any(settings)
    feeds = pick_feeds(settings, feed)
    every = [table for picked in feeds for table in overview(settings, picked, endpoints)]
    overviews = list({table.table: table for table in every}.values())  # the log is in each feed's
    result = [_as_json(table) for table in overviews]
    tell("tables", result, as_json=as_json, show=lambda: _show(settings, feeds, overviews))


def _show(settings: Settings, feeds: Sequence[Feed], overviews: list[TableOverview]) -> None:
    if not overviews:
        stdout.print(f"no tables below {settings.lake_root} yet; run `lake-assets stream`")
        return
    stdout.print(overview_table(overviews))
    for picked in feeds:
        if picked.schedule is not None:
            when = next_tick_in_words(picked.schedule, datetime.now(UTC))
            stdout.print(f"feed {picked.feed} runs next {when}", highlight=False, soft_wrap=True)


def overview_table(found: list[TableOverview]) -> Table:
    """Tables as people read them."""
    shown = Table()
    # Where it is narrow, as for whoever is no terminal, names are folded and numbers stay whole.
    shown.add_column("table", overflow="fold")
    for title in ("rows", "files", "size", "lag"):
        shown.add_column(title, justify="right", no_wrap=True)
    shown.add_column("last commit (UTC)", no_wrap=True)
    # Bronze always has some.
    split = any(table.partition_by for table in found if table.table.layer is not Layer.BRONZE)
    if split:
        shown.add_column("partitions")
    for table in found:
        shown.add_row(
            table.table.name,
            f"{table.rows:,}",
            f"{table.files:,}",
            decimal(table.size_bytes),
            "?" if table.lag_rows is None else f"{table.lag_rows:,}",
            f"{table.committed_at:%m-%d %H:%M:%S}",
            *([_partitions(table)] if split else []),
        )
    return shown


def _partitions(table: TableOverview) -> str:
    by = ", ".join(table.partition_by)
    return f"{table.partitions:,} by {by}" if by else ""


def _show_then(settings: Settings, at: datetime | int, feed: str | None, *, as_json: bool) -> None:
    lake = lake_of(settings)
    chosen = tables_in(lake)
    if feed is not None:
        own = set(tables_of(lake, pick_feed(settings, feed)))
        chosen = [table for table in chosen if table in own]
    then = [table_at(lake, table, at) for table in chosen]
    result = [_then_as_json(one) for one in then]
    tell("tables", result, as_json=as_json, show=lambda: _show_table_then(settings, then))


def _show_table_then(settings: Settings, then: list[TableThen]) -> None:
    if not then:
        stdout.print(f"no tables below {settings.lake_root} yet; run `lake-assets stream`")
        return
    stdout.print(_table_then(then))
    hours = settings.maintenance.keep_hours
    stdout.print(
        f"versions stay readable for {hours:g} h after the next has come, unless a table says "
        "otherwise",
        highlight=False,
    )


def _table_then(found: list[TableThen]) -> Table:
    shown = Table()
    shown.add_column("table", overflow="fold")
    for title in ("version", "now", "rows"):
        shown.add_column(title, justify="right", no_wrap=True)
    shown.add_column("committed (UTC)", no_wrap=True)
    shown.add_column("readable")
    for one in found:
        shown.add_row(
            one.table.relative,
            "-" if one.version is None else str(one.version),
            str(one.newest),
            "?" if one.rows is None else f"{one.rows:,}",
            "?" if one.committed_at is None else f"{one.committed_at:%m-%d %H:%M:%S}",
            f"no: {one.why_not}" if one.why_not else "yes",
        )
    return shown


def _then_as_json(one: TableThen) -> dict[str, object]:
    return {
        **asdict(one),
        "table": one.table.name,
        "layer": one.table.layer.value,
        "committed_at": one.committed_at.isoformat() if one.committed_at else None,
        "is_readable": not one.why_not,
    }


def _as_json(one: TableOverview) -> dict[str, object]:
    facts = asdict(one)
    facts |= {
        "table": one.table.name,
        "layer": one.table.layer.value,
        "path": str(one.path),
        "committed_at": one.committed_at.isoformat(),
    }
    return facts
