"""`lake-assets tables`: what is in the lake."""

import json
from dataclasses import asdict

from rich.filesize import decimal
from rich.table import Table

from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    JsonOption,
    LakeOption,
    endpoints_if_any,
    pick_feeds,
)
from lake_assets.settings.load import load_settings
from lake_assets.streams.overview import TableOverview, overview


def tables(
    *, feed: FeedOption = None, lake: LakeOption = None, as_json: JsonOption = False
) -> None:
    """Show every table: rows, files, bytes, last commit, and how many rows it lags behind.

    Bronze lags behind the topic, silver and quarantine behind bronze, gold behind silver. The log
    of batches and refreshes is that of all feeds.
    """
    settings = load_settings(lake=lake)
    endpoints = endpoints_if_any(settings)
    feeds = pick_feeds(settings, feed)
    every = [table for picked in feeds for table in overview(settings, picked, endpoints)]
    overviews = list({table.table: table for table in every}.values())  # the log is in each feed's
    if as_json:
        print(json.dumps([_as_json(table) for table in overviews]))
        return
    if not overviews:
        stdout.print(f"no tables below {settings.lake_dir} yet; run `lake-assets stream`")
        return
    stdout.print(overview_table(overviews))


def overview_table(found: list[TableOverview]) -> Table:
    """Tables as people read them."""
    shown = Table()
    shown.add_column("table", no_wrap=True)
    for title in ("rows", "files", "size", "lag"):
        shown.add_column(title, justify="right")
    shown.add_column("last commit (UTC)", no_wrap=True)
    for table in found:
        shown.add_row(
            table.table.name,
            f"{table.rows:,}",
            f"{table.files:,}",
            decimal(table.size_bytes),
            "?" if table.lag_rows is None else f"{table.lag_rows:,}",
            f"{table.committed_at:%m-%d %H:%M:%S}",
        )
    return shown


def _as_json(one: TableOverview) -> dict[str, object]:
    facts = asdict(one)
    facts |= {
        "table": one.table.name,
        "layer": one.table.layer.value,
        "path": str(one.path),
        "committed_at": one.committed_at.isoformat(),
    }
    return facts
