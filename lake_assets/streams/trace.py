"""Where one row of a source is now, told from logs, checkpoints and the few files that matter.

Says in which table a row is and why. What could be in none of them is told apart by how far the
streams have got. No Spark, and nothing is decoded.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.find_rows import FoundRow, find_rows
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceError
from lake_assets.logs.gaps import RecordedGap, recorded_gaps
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.origins import FEED, Origin
from lake_assets.model.quarantine import Reason
from lake_assets.model.tables import (
    TableRef,
    bronze_of,
    deliveries_of,
    duplicates_of,
    erased_of,
    quarantine_of,
    waiting_of,
)
from lake_assets.settings.schema import Settings
from lake_assets.silver.duplicate_rows import FIRST_FEED, first_names, first_of
from lake_assets.sources.catalog import source_of
from lake_assets.state.erasure_ledger import ErasureLedger
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.streams.progress import demux_position, ingested_offsets
from lake_assets.streams.trace_words import in_gap, words
from lake_assets.streams.whereabouts import (
    BY_PLACE,
    DEAD_LETTER,
    DELIVERED,
    DUPLICATE,
    ERASED,
    Place,
    Progress,
    Trace,
    Whereabouts,
)


def trace(settings: Settings, feed: Feed, origin: Origin, endpoints: Endpoints | None) -> Trace:
    """Find a message.

    Progress is read first and the tables after it, so a message on its way is never called dropped.

    Args:
        settings: where the lake is.
        feed: whose tables to look into.
        origin: the message.
        endpoints: the broker, to tell whether a message beyond bronze exists; None if there is
            none to ask.

    Raises:
        LakeError: a file that the lake should have cannot be read.
    """
    demuxed = demux_position(lake_of(settings), feed).offsets
    progress = Progress(
        demuxed=demuxed.get((origin.name, origin.partition)),
        ingested=ingested_offsets(lake_of(settings), feed).get((origin.name, origin.partition)),
    )
    bronze = _in_bronze(lake_of(settings), feed, origin)
    refined = [
        *_refused(lake_of(settings), feed, waiting_of(feed.feed), origin),
        *_refused(lake_of(settings), feed, quarantine_of(feed.feed), origin),
        *_duplicates(lake_of(settings), feed, origin),
        *_erased(lake_of(settings), feed, origin),
        *_in_silver(lake_of(settings), feed, origin),
        *(() if feed.has_silver else _sent(lake_of(settings), feed, origin)),
    ]
    places = (*bronze, *refined)
    is_erased = not places and _was_erased(settings, feed, origin)
    gap = None if places or is_erased else _gap_of(lake_of(settings), feed, origin)
    end = None
    if not (places or is_erased or gap or _is_passed(origin, progress)):
        end = _end_of(lake_of(settings), feed, endpoints, origin)
    decided = decide(origin, progress, places, end=end, is_in_gap=gap is not None)
    whereabouts = Whereabouts.ERASED if is_erased else decided
    return Trace(
        feed=feed.feed,
        origin=origin,
        whereabouts=whereabouts,
        words=in_gap(gap, feed) if gap else words(whereabouts, feed, progress, places, end),
        places=places,
    )


def decide(
    origin: Origin,
    progress: Progress,
    places: Sequence[Place],
    *,
    end: int | None,
    is_in_gap: bool = False,
) -> Whereabouts:
    """Where a message is, by the tables that have it and by how far the streams have got.

    Args:
        origin: the message.
        progress: how far they had got before the tables were looked into.
        places: tables that have it.
        end: offset after the partition's last message, if the broker was asked and answered.
        is_in_gap: whether it is recorded that the source had it no more.
    """
    layers = {place.table.layer.value for place in places}
    for refined in (Whereabouts.SILVER, Whereabouts.QUARANTINE):
        if refined.value in layers:
            return refined
    for reason, told in _ASIDE.items():
        if any(place.reason == reason for place in places):
            return told
    if layers:
        return Whereabouts.DROPPED if _is_demuxed(origin, progress) else Whereabouts.BRONZE
    if is_in_gap or _is_passed(origin, progress):
        return Whereabouts.GAP if is_in_gap else Whereabouts.PASSED
    if end is not None and origin.offset >= end:
        return Whereabouts.NOT_IN_SOURCE
    return Whereabouts.NOT_INGESTED


_ASIDE = {
    Reason.WAITING.value: Whereabouts.WAITING,
    DUPLICATE: Whereabouts.DUPLICATE,
    ERASED: Whereabouts.ERASED,
}
"""Where a row is that a table beside bronze has for a reason."""


def _is_passed(origin: Origin, progress: Progress) -> bool:
    return progress.ingested is not None and origin.offset < progress.ingested


def _is_demuxed(origin: Origin, progress: Progress) -> bool:
    return progress.demuxed is not None and origin.offset < progress.demuxed


def _end_of(lake: Store, feed: Feed, endpoints: Endpoints | None, origin: Origin) -> int | None:
    if endpoints is None or not feed.source.declared.reads(origin.name):
        return None
    try:
        # A partition that the source has not is one without messages.
        ends = source_of(feed, endpoints, lake).extent().ends
        return ends.get((origin.name, origin.partition), 0)
    except SourceError:
        return None


def _was_erased(settings: Settings, feed: Feed, origin: Origin) -> bool:
    """Whether it is noted that a row there was erased, which no table has any more."""
    ledger = ErasureLedger(lake_of(settings), settings.state_dir)
    spans = ledger.spans(feed.feed).get((origin.name, origin.partition), ())
    return any(first <= origin.offset < end for first, end in spans)


def _gap_of(lake: Store, feed: Feed, origin: Origin) -> RecordedGap | None:
    return next((g for g in recorded_gaps(lake, feed.feed) if g.gap.has(origin)), None)


def _in_bronze(lake: Store, feed: Feed, origin: Origin) -> list[Place]:
    table = bronze_of(feed.feed)
    key = feed.source.origin.key_of(origin)
    rows = _find(lake, table, key, ["ingested_at"])
    return [_place(table, row, at=row.row["ingested_at"]) for row in rows]


def _refused(lake: Store, feed: Feed, table: TableRef, origin: Origin) -> list[Place]:
    key = feed.source.origin.key_of(origin)
    return [
        _place(
            table,
            row,
            reason=row.row["reason"],
            detail=row.row["detail"],
            at=row.row["quarantined_at"],
        )
        for row in _find(lake, table, key, ["reason", "detail", "quarantined_at"])
    ]


def _duplicates(lake: Store, feed: Feed, origin: Origin) -> list[Place]:
    table, columns = duplicates_of(feed.feed), feed.source.origin
    wanted = [*first_names(columns), "key", "dropped_at"]
    return [
        _place(
            table,
            row,
            key=row.row["key"],
            reason=DUPLICATE,
            detail=f"of {first_of(row.row, columns)}{_of_another(feed, row.row[FIRST_FEED])}",
            at=row.row["dropped_at"],
        )
        for row in _find(lake, table, columns.key_of(origin), wanted)
    ]


def _erased(lake: Store, feed: Feed, origin: Origin) -> list[Place]:
    table = erased_of(feed.feed)
    return [
        _place(
            table,
            row,
            reason=ERASED,
            detail=f"by {row.row['erasure'] or BY_PLACE}",
            at=row.row["erased_at"],
        )
        for row in _find(lake, table, feed.source.origin.key_of(origin), ["erasure", "erased_at"])
    ]


def _of_another(feed: Feed, first: str | None) -> str:
    return "" if first in {None, feed.feed} else f" of feed {first}"


def _in_silver(lake: Store, feed: Feed, origin: Origin) -> list[Place]:
    row_key = feed.source.origin.in_silver.key_of(origin)
    places = []
    for key in keys_found(lake, feed):
        table = feed.silver_table(key)
        found = [
            row
            for row in _find(lake, table, row_key, [FEED])
            if (row.row[FEED] or tables_owner(feed)) == feed.feed
        ]
        many = Counter(row.file for row in found)
        files = {row.file: row for row in found}
        places += [replace(_place(table, row, key=key), rows=many[f]) for f, row in files.items()]
    return places


def _sent(lake: Store, feed: Feed, origin: Origin) -> list[Place]:
    """What became of a row at sinks of bronze; the detail says whose it is."""
    key = {"source": origin.name, "partition": origin.partition, "offset": origin.offset}
    found = (
        (deliveries_of(feed.feed, sink.name), sink.name, row)
        for sink in feed.sinks
        for row in _find(
            lake,
            deliveries_of(feed.feed, sink.name),
            key,
            ["table", "delivered", "reason", "time"],
        )
        if row.row["table"] == bronze_of(feed.feed).relative
    )
    return [
        _place(
            table,
            row,
            reason=DELIVERED if row.row["delivered"] else DEAD_LETTER,
            detail=f"sink {name}" + ("" if row.row["delivered"] else f": {row.row['reason']}"),
            at=row.row["time"],
        )
        for table, name, row in found
    ]


def _find(
    lake: Store, table: TableRef, key: Mapping[str, object], columns: Sequence[str]
) -> list[FoundRow]:
    handle = open_table(lake, table)
    if handle is None:
        return []
    return find_rows(log_of(lake, table), handle, key, columns)


def _place(
    table: TableRef,
    row: FoundRow,
    *,
    key: str | None = None,
    reason: str | None = None,
    detail: str | None = None,
    at: datetime | None = None,
) -> Place:
    return Place(
        table=table,
        file=row.file,
        version=row.added.version,
        is_exact=row.added.is_exact,
        key=key,
        reason=reason,
        detail=detail,
        at=at,
    )
