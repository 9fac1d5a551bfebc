"""What is in a lake: every table's size, its last commit and how far it lags behind its source."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from deltalake import DeltaTable

from lake_assets.delta.catalog import keys_found, keys_of
from lake_assets.delta.log_history import TableState, open_table, rows_since, state_of
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceError, first_line
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.tables import (
    EVERY_KEY,
    GAPS,
    QUALITY_LOG,
    SCHEMA_LOG,
    STREAM_LOG,
    TableRef,
    bronze_of,
    duplicates_of,
    erased_of,
    quarantine_of,
    waiting_of,
)
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.progress import demux_position, ingested_offsets
from lake_assets.streams.source_standing import another_topic


@dataclass(frozen=True, kw_only=True, slots=True)
class TableOverview:
    """One table that exists."""

    table: TableRef
    path: LakeUri
    key: str | None
    """None of a table of all keys, or of none."""

    rows: int
    files: int
    size_bytes: int
    committed_at: datetime
    partition_by: tuple[str, ...] = ()
    """Columns by which it is partitioned."""

    partitions: int = 1
    """How many have rows; 1 of a table without partitions."""

    lag_rows: int | None
    """Rows that are not in it yet: of the source for bronze; of bronze for silver, quarantine
    and waiting rows (of all keys: a row's key is known only once it is decoded), of silver for
    gold. None if the source does not answer or is another, and of a view that reads no silver of
    its feed; 0 of the log, which has none.
    """


def overview(settings: Settings, feed: Feed, endpoints: Endpoints | None) -> list[TableOverview]:
    """Every table of the feed that exists, in the order data travels, and the log of all feeds.

    Args:
        settings: where the lake is.
        feed: whose tables.
        endpoints: the broker, to tell bronze's lag; None if there is none to ask.
    """
    return list(_tables(settings, feed, endpoints))


def _tables(settings: Settings, feed: Feed, endpoints: Endpoints | None) -> Iterator[TableOverview]:
    lake = lake_of(settings)
    # Before bronze is: else silver could be shown with rows that bronze lacks.
    silver_tables = {
        key: open_table(lake, feed.silver_table(key))
        for key in (keys_found(lake, feed) if feed.into is None else ())  # else the other's
    }
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return
    lag = source_lag(settings, feed, endpoints).rows
    yield _view(lake, bronze_of(feed.feed), state_of(bronze), lag)
    behind = rows_since(bronze, demux_position(lake, feed).bronze.version + 1)
    aside = (waiting_of, quarantine_of, duplicates_of, erased_of)
    yield from _those_there(lake, [one(feed.feed) for one in aside], behind)
    if index := feed.source.index_of(feed.feed):
        yield from _those_there(lake, (index,), 0)
    over_all = [view for view in feed.gold if view.is_over_all]
    of_keys = [view for view in feed.gold if not view.is_over_all]
    for key, silver in silver_tables.items():
        if silver is not None:
            yield _view(lake, feed.silver_table(key), state_of(silver), behind, key)
            tables = (_of_key(lake, feed, view, key, silver) for view in of_keys)
            yield from (table for table in tables if table is not None)
    tables = (_over_all(lake, feed, view) for view in over_all)
    yield from (table for table in tables if table is not None)
    yield from _those_there(lake, (QUALITY_LOG, STREAM_LOG, GAPS, SCHEMA_LOG), 0)


def _those_there(lake: Store, tables: Iterable[TableRef], lag: int) -> Iterator[TableOverview]:
    for table in tables:
        handle = open_table(lake, table)
        if handle is not None:
            yield _view(lake, table, state_of(handle), lag)


def _of_key(
    lake: Store, feed: Feed, view: GoldView, key: str, silver: DeltaTable
) -> TableOverview | None:
    """A view's table of a key, if it is there."""
    table = feed.gold_table(view, key)
    gold = open_table(lake, table)
    if gold is None:
        return None
    state = state_of(gold)
    if not any(source.is_plain for source in view.sources):
        return _view(lake, table, state, None, key)
    position = position_from(state.info)
    since = position.silver_version + 1 if position else 0
    return _view(lake, table, state, rows_since(silver, since), key)


def _over_all(lake: Store, feed: Feed, view: GoldView) -> TableOverview | None:
    """A view's table of all keys, if it is there."""
    table = feed.gold_table(view, EVERY_KEY)
    gold = open_table(lake, table)
    if gold is None:
        return None
    state = state_of(gold)
    if not any(source.is_plain for source in view.sources):
        return _view(lake, table, state, None)
    position = PositionOfAll.of(state.info)
    known = position.versions if position else {}
    opened = {key: open_table(lake, feed.silver_table(key)) for key in keys_of(lake, feed)}
    silver = {key: handle for key, handle in opened.items() if handle is not None}
    lag = sum(rows_since(handle, known.get(key, -1) + 1) for key, handle in silver.items())
    return _view(lake, table, state, lag)


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceLag:
    """How far bronze is behind a feed's source."""

    rows: int | None
    """None if nobody knows."""

    why: str = ""
    """Why that is, in words."""


def source_lag(settings: Settings, feed: Feed, endpoints: Endpoints | None) -> SourceLag:
    """Rows of the feed's source that are not in bronze."""
    if endpoints is None:
        return SourceLag(rows=None)
    done = ingested_offsets(lake_of(settings), feed)
    try:
        extent = source_of(feed, endpoints, lake_of(settings)).extent()
    except SourceError as problem:
        return SourceLag(rows=None, why=first_line(problem))
    if another := another_topic(feed, extent.ends, done):
        return SourceLag(rows=None, why=another)
    lags = (max(0, e - done.get(place, extent.begins[place])) for place, e in extent.ends.items())
    return SourceLag(rows=sum(lags))


def _view(
    lake: Store, table: TableRef, state: TableState, lag: int | None, key: str | None = None
) -> TableOverview:
    return TableOverview(
        table=table,
        path=log_of(lake, table).folder,
        key=key,
        rows=state.rows,
        files=state.files,
        size_bytes=state.size_bytes,
        committed_at=state.committed_at,
        lag_rows=lag,
        partition_by=state.partition_by,
        partitions=state.partitions,
    )
