"""`lake-assets maintain`: files joined, unused files and old rows deleted, logs kept short."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.filesize import decimal
from rich.table import Table

from lake_assets.cli.answer import tell
from lake_assets.cli.confirm import DryRunOption
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedOption,
    FeedsOption,
    HomeOption,
    JsonOption,
    KeysOption,
    LakeOption,
    for_each,
    pick_feeds,
)
from lake_assets.maintenance.run import maintain as maintain_tables
from lake_assets.maintenance.table_upkeep import TableUpkeep
from lake_assets.settings.load import load_settings


def maintain(
    *,
    dry_run: DryRunOption = False,
    key: KeysOption = None,
    feed: FeedOption = None,
    lake: LakeOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Join small files, delete old rows and files that no version needs, and shorten logs.

    The streams may go on meanwhile. Dagster does the same on a schedule. How long versions of a
    table stay readable is a setting (LAKE_ASSETS_MAINTENANCE_KEEP_HOURS); how long rows stay is the
    feed's to say (`retention`).
    """
    settings = load_settings(lake=lake, home=home, feeds=feeds_folder)
    done: list[TableUpkeep] = []
    failed = for_each(
        pick_feeds(settings, feed, keys=key),
        lambda one: done.extend(maintain_tables(settings, one, keys=key, dry_run=dry_run)),
    )
    result = [_as_json(upkeep) for upkeep in done]
    tell("maintain", result, failed, as_json=as_json, show=lambda: _show(done, dry_run=dry_run))


def _show(done: Sequence[TableUpkeep], *, dry_run: bool) -> None:
    busy = [upkeep for upkeep in done if not upkeep.is_idle]
    if busy:
        stdout.print(_table(busy, dry_run=dry_run))
    idle = len(done) - len(busy)
    if idle or not done:
        stdout.print(f"{idle} tables need nothing", highlight=False)


def _table(done: Sequence[TableUpkeep], *, dry_run: bool) -> Table:
    shown = Table(title="what would be done" if dry_run else None)
    shown.add_column("table", no_wrap=True)
    for title in ("joined", "into", "old rows", "deleted", "freed", "log files"):
        shown.add_column(title, justify="right")
    shown.add_column("notes")
    for upkeep in done:
        shown.add_row(
            upkeep.table.name,
            f"{upkeep.joined:,}",
            f"{upkeep.into:,}",
            f"{upkeep.old_rows:,}",
            f"{upkeep.deleted:,}",
            decimal(upkeep.deleted_bytes),
            f"{upkeep.log_files:,}",
            "; ".join(upkeep.notes),
        )
    return shown


def _as_json(one: TableUpkeep) -> dict[str, object]:
    return {**asdict(one), "table": one.table.name, "layer": one.table.layer.value}
