"""Where one row of a source is now, told from logs, checkpoints and the few files that matter.

Says in which table a row is and why. What could be in none of them is told apart by how far the
streams have got. No Spark, and nothing is decoded.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.find_rows import FoundRow, find_rows
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_log import log_of
from lake_assets.errors import SourceError
from lake_assets.logs.gaps import RecordedGap, recorded_gaps
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.expectations import Action
from lake_assets.model.feeds import Feed
from lake_assets.model.gaps import GapReason
from lake_assets.model.origins import Origin
from lake_assets.model.quarantine import Reason
from lake_assets.model.tables import TableRef, bronze_of, quarantine_of, waiting_of
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store
from lake_assets.storage.uri import LakeUri
from lake_assets.streams.progress import demux_position, ingested_offsets


class Whereabouts(StrEnum):
    """Where a message is."""

    NOT_IN_SOURCE = "not_in_source"  # the source has not come so far, by its own word
    NOT_INGESTED = "not_ingested"  # ingest has not come so far
    GAP = "gap"  # the source had it no more when it was its turn
    PASSED = "passed"  # ingest has passed its offset and bronze does not have it
    BRONZE = "bronze"  # in bronze alone: demux has not come so far
    WAITING = "waiting"  # beside bronze: the registry could not be asked about its schema yet
    SILVER = "silver"  # in a key's table
    QUARANTINE = "quarantine"  # refused, for a reason
    DROPPED = "dropped"  # demuxed, and in no table


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """One table that has the message."""

    table: TableRef
    file: LakeUri
    version: int
    """The commit that added the file, as it lies there now: compaction makes new ones."""

    is_exact: bool
    """False if the log has forgotten the commit: then it is `version`'s or an older one."""

    key: str | None = None
    rows: int = 1
    """Of the message in the file: `explode` makes several of one."""

    reason: str | None = None
    """Why quarantine has it, and what that means for this message."""

    detail: str | None = None
    at: datetime | None = None
    """When bronze or quarantine got it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Trace:
    """What is known of one message."""

    feed: str
    origin: Origin
    whereabouts: Whereabouts
    words: str
    """The same in a sentence."""

    places: tuple[Place, ...] = ()
    """In the order data travels: bronze first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """How far the streams had got before any table was looked into."""

    ingested: int | None
    """First offset of the partition that ingest has not taken; None if it has taken none."""

    demuxed: int | None = None
    """First offset of the partition that demux has not taken; None if it has taken none."""


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
        *_in_silver(lake_of(settings), feed, origin),
    ]
    places = (*bronze, *refined)
    gap = None if places else _gap_of(lake_of(settings), feed, origin)
    end = None
    if not places and gap is None and not _is_passed(origin, progress):
        end = _end_of(feed, endpoints, origin)
    whereabouts = decide(origin, progress, places, end=end, is_in_gap=gap is not None)
    return Trace(
        feed=feed.feed,
        origin=origin,
        whereabouts=whereabouts,
        words=_in_gap(gap, feed) if gap else _words(whereabouts, feed, progress, places, end),
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
    if any(place.reason == Reason.WAITING for place in places):
        return Whereabouts.WAITING
    if layers:
        return Whereabouts.DROPPED if _is_demuxed(origin, progress) else Whereabouts.BRONZE
    if is_in_gap or _is_passed(origin, progress):
        return Whereabouts.GAP if is_in_gap else Whereabouts.PASSED
    if end is not None and origin.offset >= end:
        return Whereabouts.NOT_IN_SOURCE
    return Whereabouts.NOT_INGESTED


def _is_passed(origin: Origin, progress: Progress) -> bool:
    return progress.ingested is not None and origin.offset < progress.ingested


def _is_demuxed(origin: Origin, progress: Progress) -> bool:
    return progress.demuxed is not None and origin.offset < progress.demuxed


def _end_of(feed: Feed, endpoints: Endpoints | None, origin: Origin) -> int | None:
    if endpoints is None or not feed.source.declared.reads(origin.name):
        return None
    try:
        # A partition that the source has not is one without messages.
        ends = source_of(feed, endpoints).extent().ends
        return ends.get((origin.name, origin.partition), 0)
    except SourceError:
        return None


def _gap_of(lake: Store, feed: Feed, origin: Origin) -> RecordedGap | None:
    return next((g for g in recorded_gaps(lake, feed.feed) if g.gap.has(origin)), None)


def _in_gap(recorded: RecordedGap, feed: Feed) -> str:
    why = {
        GapReason.DELETED: f"{feed.source.declared.system} deleted it before it was read",
        GapReason.SKIPPED: "its batch could not be read and was skipped (`stream --skip-batch`)",
        GapReason.REFUSED: "bronze refused it, and it is no longer in quarantine either",
        GapReason.RECREATED: "its source was deleted and created again before it was read",
    }[recorded.gap.reason]
    return f"not in bronze: {why} ({recorded.gap}; noticed {recorded.at:%Y-%m-%d %H:%M:%S} UTC)"


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


def _in_silver(lake: Store, feed: Feed, origin: Origin) -> list[Place]:
    row_key = feed.source.origin.in_silver.key_of(origin)
    places = []
    for key in keys_found(lake, feed):
        found = _find(lake, feed.silver_table(key), row_key, [])
        many = Counter(row.file for row in found)
        files = {row.file: row for row in found}
        table = feed.silver_table(key)
        places += [replace(_place(table, row, key=key), rows=many[f]) for f, row in files.items()]
    return places


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


def _words(
    whereabouts: Whereabouts,
    feed: Feed,
    progress: Progress,
    places: Sequence[Place],
    end: int | None,
) -> str:
    last = places[-1] if places else None
    droppers = [e.name for e in feed.expectations if e.action is Action.DROP]
    dropped = (
        f"expectations that drop are {', '.join(droppers)}"
        if droppers
        else "no expectation drops now; one did, or the row was deleted since"
    )
    return {
        Whereabouts.NOT_IN_SOURCE: f"does not exist yet: the partition ends at offset {end}",
        Whereabouts.NOT_INGESTED: (
            "not in bronze: ingest has taken nothing of this partition"
            if progress.ingested is None
            else f"not in bronze: ingest takes offset {progress.ingested} next"
        ),
        Whereabouts.PASSED: (
            f"not in bronze, though ingest takes offset {progress.ingested} next: the source had "
            "no such message, ingest began after it, or it was deleted since"
        ),
        Whereabouts.BRONZE: "in bronze; demux has not come to it yet",
        Whereabouts.WAITING: f"waiting beside bronze: {last.detail if last else None}",
        Whereabouts.SILVER: f"in silver, as an event of {last.key if last else None}",
        Whereabouts.QUARANTINE: (
            f"in quarantine: {last.reason if last else None} ({last.detail if last else None})"
        ),
        Whereabouts.DROPPED: f"dropped: demuxed, and in no table; {dropped}",
    }[whereabouts]
