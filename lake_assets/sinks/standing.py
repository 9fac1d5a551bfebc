"""How a sink stands, by logs alone: what it has not delivered yet, and its new dead letters.

Cheap enough for whoever looks every few seconds; what follows from it is theirs to decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.increments import Point
from lake_assets.delta.log_history import committed_at, open_table
from lake_assets.delta.recorded_sources import sources_read
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.source_offsets import Offsets
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.sinks import Sink
from lake_assets.model.tables import TableRef, bronze_of, deliveries_of
from lake_assets.sinks.deliveries import point_in
from lake_assets.sinks.gained import digest_number, gained_since
from lake_assets.sinks.view_changes import first_change
from lake_assets.sinks.view_tables import tables_of_view
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """How a sink stands; times in seconds since 1970."""

    behind_since: float | None
    """When the oldest commit came that it has not delivered; None if there is none."""

    recorded_at: float
    """When it recorded something last; 0 of a sink that never began."""

    new_letters: int = 0
    """Dead letters of the time that was asked about; some more where files were joined since."""

    letters_since: float | None = None
    """When the first of their files was written."""


def unread_since(lake: Store, feed: Feed, sink: Sink) -> dict[TableRef, float]:
    """By table of a sink, since when it has had commits that a sink did not look at.

    None of a sink that never began, and of a table whose log has forgotten the first of them.

    Raises:
        LakeError: a table's log cannot be read.
    """
    deliveries = open_table(lake, deliveries_of(feed.feed, sink.name))
    if deliveries is None:
        return {}
    points = _points(lake, feed, sink, deliveries).items()
    found = ((table, committed_at(lake, table, done.version + 1)) for table, done in points)
    return {table: at for table, at in found if at is not None}


def _points(
    lake: Store, feed: Feed, sink: Sink, deliveries: DeltaTable | None
) -> dict[TableRef, Point]:
    return {
        table: Point() if deliveries is None else point_in(deliveries, table.relative)
        for table in tables_of_sink(lake, feed, sink)
    }


def tables_of_sink(lake: Store, feed: Feed, sink: Sink) -> list[TableRef]:
    """The tables that a sink follows.

    Raises:
        FeedError: it is of a view that is not there.
        LakeError: a log cannot be read.
    """
    if sink.view is not None:
        return list(tables_of_view(lake, feed, feed.view(sink.view)))
    if sink.is_of_bronze:
        return [bronze_of(feed.feed)]
    return sorted({feed.silver_table(key) for key in keys_found(lake, feed)})


def _undelivered(
    lake: Store, feed: Feed, sink: Sink, deliveries: DeltaTable | None
) -> Iterator[float]:
    """By table that has files with rows for the sink, when the first of them was committed."""
    for table, done in _points(lake, feed, sink, deliveries).items():
        try:
            version = _first_new(log_of(lake, table), done, is_of_view=sink.view is not None)
        except ValueError as problem:
            raise LakeError(table.name, f"has a torn commit ({problem})", "Restore it") from problem
        at = None if version is None else committed_at(lake, table, version)
        if at is not None:
            yield at


def _first_new(log: TableLog, done: Point, *, is_of_view: bool) -> int | None:
    """The first version that has what was not delivered; None if none has."""
    if is_of_view:
        return first_change(log, done)
    gained = gained_since(log, done, max_rows=1)
    if gained is None or not gained.files:
        return None
    if not gained.is_all:
        return gained.until.version
    # When the newest came tells nothing: a sink that stands still would seem to lag for a moment.
    known = [version for version in _versions(log) if version <= gained.until.version]
    newer = [version for version in known if version > done.version]
    return min(newer or known, default=None)


def _versions(log: TableLog) -> list[int]:
    """Those whose commits a log still has."""
    names = (name.partition(".") for name in log.names_from())
    return [int(number) for number, _, kind in names if number.isdecimal() and kind == "json"]


def standing_of(lake: Store, feed: Feed, sink: Sink, letters_since: float) -> Standing | None:
    """How a sink stands now; None if it never began, and nothing waits for it.

    Args:
        lake: where the tables are.
        feed: whose sink.
        sink: which.
        letters_since: dead letters of files that were written before are none that are new.

    Raises:
        LakeError: a table's log cannot be read.
    """
    table = deliveries_of(feed.feed, sink.name)
    handle = open_table(lake, table)
    behind_since = min(_undelivered(lake, feed, sink, handle), default=None)
    if handle is None:
        is_awaited = behind_since is not None
        return Standing(behind_since=behind_since, recorded_at=0.0) if is_awaited else None
    files = pa.table(handle.get_add_actions(flatten=True))
    letters, times = 0, []
    if {"null_count.key", "max.time"} <= set(files.column_names):
        names = ("num_records", "null_count.key", "max.time")
        for rows, delivered, last in zip(*(files[name].to_pylist() for name in names), strict=True):
            if delivered is None or last is None:
                continue
            at = _utc(last)
            if rows > delivered and at >= letters_since:
                letters += rows - delivered
                times.append(at)
    return Standing(
        behind_since=behind_since,
        recorded_at=committed_at(lake, table, handle.version()) or 0.0,
        new_letters=letters,
        letters_since=min(times, default=None),
    )


def taken_by_sinks(lake: Store, feed: Feed) -> Offsets:
    """By partition, the offset up to which all sinks of a feed's bronze are done with its rows.

    Empty where that cannot be told: a sink never began, or bronze is another table by now.

    Raises:
        LakeError: a table's log cannot be read.
    """
    bronze, points = bronze_of(feed.feed), []
    for sink in feed.sinks:
        deliveries = open_table(lake, deliveries_of(feed.feed, sink.name))
        points.append(Point() if deliveries is None else point_in(deliveries, bronze.relative))
    done, log = min(points, key=lambda point: point.version), log_of(lake, bronze)
    digest = commit_digest(log, done.version) if done.version >= 0 else None
    if digest is None or digest_number(digest) != digest_number(done.digest):
        return {}
    try:
        then = log.open(done.version)
    except DeltaError:
        return {}  # its log was shortened since
    return dict(held_offsets(log, then, sources_read(log, then, feed.source)))


def _utc(time: datetime) -> float:
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
