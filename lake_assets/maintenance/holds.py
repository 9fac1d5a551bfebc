"""What of a feed's tables somebody still goes on from: by table, who, and since when.

Reads logs only.
"""

import time
from collections.abc import Mapping

from lake_assets.delta.catalog import tables_of
from lake_assets.delta.log_history import committed_at, open_table
from lake_assets.gold.status import needed_since
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux_position import read_position
from lake_assets.sinks.standing import unread_since
from lake_assets.state.backup_hold import held_versions
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


def holds_of(settings: Settings, feed: Feed) -> dict[TableRef, dict[str, float]]:
    """By table, what needs its older versions, in words, and since when; seconds since 1970.

    Raises:
        LakeError: a table's log cannot be read.
    """
    holds = {
        table: {f"view {view} is behind": at for view, at in views.items()}
        for table, views in needed_since(settings, feed).items()
    }
    for table, further in (
        *_of_bronze(lake_of(settings), feed).items(),
        *_of_backup(settings, feed).items(),
        *_of_sinks(lake_of(settings), feed).items(),
    ):
        holds[table] = {**holds.get(table, {}), **further}
    return holds


def _of_backup(settings: Settings, feed: Feed) -> Mapping[TableRef, dict[str, float]]:
    """A backup under way reads each table at one version."""
    lake, held = lake_of(settings), held_versions(settings.state_dir)
    tables = [table for table in tables_of(lake, feed) if table.relative in held] if held else ()
    now = time.time()  # what comes next to a table comes after: this maintenance's own, perhaps
    return {
        table: {"a backup is under way": committed_at(lake, table, held[table.relative] + 1) or now}
        for table in tables
    }


def _of_sinks(lake: Store, feed: Feed) -> Mapping[TableRef, dict[str, float]]:
    """Sinks follow tables by their logs: without them they look at all rows, or send a view's."""
    holds: dict[TableRef, dict[str, float]] = {}
    for sink in feed.sinks:
        for table, since in unread_since(lake, feed, sink).items():
            holds.setdefault(table, {})[f"sink {sink.name} is behind"] = since
    return holds


def _of_bronze(lake: Store, feed: Feed) -> Mapping[TableRef, dict[str, float]]:
    """Demux goes on from the version that the quarantine's commits name, if there is demux."""
    if not feed.has_silver:
        return {}
    quarantine, bronze = open_table(lake, quarantine_of(feed.feed)), bronze_of(feed.feed)
    position = read_position(quarantine, feed.feed) if quarantine is not None else None
    if position is None or position.bronze.version < 0:
        return {}
    at = committed_at(lake, bronze, position.bronze.version + 1)
    return {} if at is None else {bronze: {"silver is behind": at}}
