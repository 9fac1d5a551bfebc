"""Versions of silver tables that several feeds fill, by which the batches of each are whole.

One version of a table has batches of all feeds, so to take one feed's batch that is under way out
of it may take another feed's whole one out as well. That feed is then taken back by as much: to
the batch before, of which its quarantine table tells. Reads logs only.
"""

from collections.abc import Callable, Mapping

from deltalake import DeltaTable

from lake_assets.backup.batch_versions import position_at, version_before
from lake_assets.backup.lake_tables import feed_of
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum, numbers_of
from lake_assets.model.tables import Layer, TableRef
from lake_assets.silver.demux_position import demux_app
from lake_assets.storage.store import Store

_ROUNDS = 100
"""Batches that feeds are taken back by, at most: more than come while tables are opened. Tables
that fit no batch of their feed would else be taken back to the first."""


def shared_cut(
    lake: Store,
    handles: Mapping[TableRef, DeltaTable],
    at: Callable[[TableRef, int], DeltaTable],
) -> dict[TableRef, DeltaTable]:
    """Older versions of tables among those that are opened, at which several feeds' batches fit.

    Args:
        lake: where they are.
        handles: quarantine, silver and waiting rows, as they were opened.
        at: opens a table at a version.

    Returns:
        Nothing if no two feeds fill one table, or if no such versions are found.
    """
    fillers = _sharing(handles)
    quarantines = {feed: t for t in handles if (feed := feed_of(t)) in fillers and _is_aside(t)}
    concerned = {*quarantines.values(), *(t for tables in fillers.values() for t in tables)}
    found = {table: handles[table] for table in concerned}
    for _ in range(_ROUNDS):
        back: dict[TableRef, int | None] = {}
        for feed, tables in fillers.items():
            own = {table: found[table] for table in tables}
            back |= _taken_back(lake, feed, quarantines[feed], found[quarantines[feed]], own)
        if not back:
            return found
        for table, version in back.items():
            if version is None or version >= found[table].version():
                return {}  # the log has forgotten it, or tells nothing
            found[table] = at(table, version)
    return {}


def _taken_back(
    lake: Store,
    feed: str,
    quarantine: TableRef,
    aside: DeltaTable,
    tables: Mapping[TableRef, DeltaTable],
) -> dict[TableRef, int | None]:
    """Which tables a feed needs at older versions; None where nothing tells which.

    Args:
        lake: where they are.
        feed: that fills the tables.
        quarantine: its table of refused rows.
        aside: the same, opened.
        tables: that it fills.
    """
    app_id, log = demux_app(feed), log_of(lake, quarantine)
    position = position_at(log, aside, app_id)
    if position is None:
        return {quarantine: None}
    numbers = numbers_of(app_id, tables)
    back = {
        table: version_before(log_of(lake, table), tables[table].version(), app_id, position.number)
        for table, number in numbers.items()
        if number > position.number
    }
    if not back and checksum(numbers) != position.tables:
        version = version_before(log, aside.version(), app_id, position.number - 1)
        back[quarantine] = version
    return back


def _sharing(handles: Mapping[TableRef, DeltaTable]) -> dict[str, list[TableRef]]:
    """By feed that fills a silver table beside another, its tables that have batches of it."""
    feeds = [feed for t in handles if _is_aside(t) and (feed := feed_of(t)) is not None]
    filled = {
        feed: [
            table
            for table, handle in handles.items()
            if not _is_aside(table) and handle.transaction_version(demux_app(feed))
        ]
        for feed in feeds
    }
    return {
        feed: tables
        for feed, tables in filled.items()
        if any({*tables} & {*others} for one, others in filled.items() if one != feed)
    }


def _is_aside(table: TableRef) -> bool:
    return table.layer is Layer.QUARANTINE
