"""What the log tables hold, and the rows that a report comes to. Pure.

`quality_log` has a row for each key and expectation of a batch, `stream_log` one for each batch
and each refresh.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa

from lake_assets.delta.commit import Batch
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Mode, RefreshReport, Span
from lake_assets.model.tables import QUALITY_LOG, STREAM_LOG, TableRef

REFRESH = "refresh"
"""The stage from silver to gold, beside those of `model.reports.Stage`."""

_TIME = pa.timestamp("us", tz="UTC")
_OFFSETS = pa.map_(pa.int32(), pa.int64())
_TOPIC_OFFSETS = pa.map_(pa.string(), pa.int64())

SCHEMAS: Mapping[TableRef, pa.Schema] = {
    QUALITY_LOG: pa.schema(
        [
            ("feed", pa.string()),
            ("key", pa.string()),
            ("expectation", pa.string()),
            ("batch", pa.int64()),
            ("seen", pa.int64()),
            ("violated", pa.int64()),
            ("action", pa.string()),
            ("time", _TIME),
        ]
    ),
    STREAM_LOG: pa.schema(
        [
            ("feed", pa.string()),
            ("stage", pa.string()),
            ("batch", pa.int64()),  # null of a refresh
            ("view", pa.string()),  # of a refresh
            ("time", _TIME),
            ("is_committed", pa.bool_()),  # false of a batch that an expectation refused
            ("rows", pa.int64()),
            ("dropped", pa.int64()),
            ("duplicates", pa.int64()),
            ("files", pa.int64()),
            ("seconds", pa.float64()),  # of all phases; the next four are parts of it
            ("session_s", pa.float64()),
            ("plan_s", pa.float64()),
            ("job_s", pa.float64()),
            ("commit_s", pa.float64()),
            ("offsets_from", _OFFSETS),  # by Kafka partition, of ingest from one topic
            ("offsets_to", _OFFSETS),
            ("topic_offsets_from", _TOPIC_OFFSETS),  # by `topic/partition`, of several topics,
            ("topic_offsets_to", _TOPIC_OFFSETS),  # where the batch has rows
            ("version_from", pa.int64()),  # of bronze, of demux
            ("version_to", pa.int64()),
            ("lag_rows", pa.int64()),  # rows of the source that are not taken; null if unknown
            ("query", pa.string()),  # batches are counted within a query
            ("keys_incremental", pa.int64()),  # of a refresh, as are the next four
            ("keys_full", pa.int64()),
            ("why", pa.string()),  # each reason once, with the number of keys it holds for
            ("rows_read", pa.int64()),  # of silver
            ("rows_written", pa.int64()),  # of the view, in new files
            ("late_rows", pa.int64()),  # of silver, too late for a window of the view
        ]
    ),
}
"""Columns of the log tables."""

_RENAMED = {
    "game": "key",
    "hop": "stage",
    "games_incremental": "keys_incremental",
    "games_full": "keys_full",
}
"""What an entry may be called that an earlier release left in the spool."""

_OFFSET_COLUMNS = ("offsets_from", "offsets_to", "topic_offsets_from", "topic_offsets_to")

_PHASES = ("session", "plan", "job", "commit")


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """What one report adds to the log tables; plain enough for JSON."""

    mark: Batch | None
    """Under which it is in a table at most once; None of what is never written twice."""

    rows: Mapping[str, Sequence[Mapping[str, Any]]]
    """By the table's name; times in microseconds since 1970."""


def entry_of(report: BatchReport, feed: Feed, at: datetime, lag: int | None = None) -> Entry:
    """A batch's entry.

    A batch that is finished after a kill has the mark it had before; one that an expectation
    refused has none, since the batch comes again under the same number.
    """
    query = report.span.query if report.span else ""
    time_us = _micros(at)
    mark = Batch(query, report.batch_id) if report.is_committed else None
    return Entry(
        mark=mark,
        rows={
            QUALITY_LOG.name: _quality_rows(report, feed, time_us),
            STREAM_LOG.name: [_stream_row(report, feed, time_us, lag)],
        },
    )


def entry_of_refresh(report: RefreshReport, feed: Feed, at: datetime) -> Entry | None:
    """A refresh's entry; None if it found nothing to do."""
    if not report.refreshed:
        return None
    row = {
        "feed": feed.feed,
        "stage": REFRESH,
        "view": report.refreshed[0].view,
        "time": _micros(at),
        "is_committed": True,
        "rows": sum(view.rows for view in report.refreshed),
        "files": sum(view.files for view in report.refreshed),
        **_seconds(report.seconds),
        "keys_incremental": sum(view.mode is Mode.INCREMENTAL for view in report.refreshed),
        "keys_full": sum(view.mode is Mode.FULL for view in report.refreshed),
        "why": _reasons(report),
        "rows_read": sum(view.rows_read for view in report.refreshed),
        "rows_written": sum(view.rows_written for view in report.refreshed),
        "late_rows": sum(view.late_rows for view in report.refreshed),
    }
    return Entry(mark=None, rows={STREAM_LOG.name: [row]})


def _reasons(report: RefreshReport) -> str:
    """`full: silver is another table (2), incremental: silver gained 1 file since (40)`."""
    counted = Counter(f"{view.mode}: {view.why}" for view in report.refreshed)
    return ", ".join(f"{reason} ({keys})" for reason, keys in sorted(counted.items()))


def table_of(table: TableRef, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Rows of entries as a log table's columns."""
    schema = SCHEMAS[table]
    maps = [field.name for field in schema if pa.types.is_map(field.type)]
    named = [{_RENAMED.get(name, name): value for name, value in row.items()} for row in rows]
    plain = [{**row, **{name: _pairs(row.get(name)) for name in maps}} for row in named]
    return pa.Table.from_pylist(plain, schema=schema)


def _quality_rows(report: BatchReport, feed: Feed, time_us: int) -> list[dict[str, Any]]:
    actions = {e.name: e.action.value for e in feed.expectations}
    return [
        {
            "feed": report.feed,
            "key": key,
            "expectation": name,
            "batch": report.batch_id,
            "seen": judged.seen,
            "violated": judged.violated,
            # A batch finished after a kill may have been judged by an expectation that is gone.
            "action": actions.get(name),
            "time": time_us,
        }
        for (key, name), judged in report.judged.items()
    ]


def _stream_row(report: BatchReport, feed: Feed, time_us: int, lag: int | None) -> dict[str, Any]:
    span = report.span
    return {
        "feed": report.feed,
        "stage": report.stage.value,
        "batch": report.batch_id,
        "time": time_us,
        "is_committed": report.is_committed,
        "rows": sum(report.rows.values()),
        "dropped": sum(report.dropped.values()),
        "duplicates": sum(report.duplicates.values()),
        "files": report.files,
        **_seconds(report.seconds),
        **dict.fromkeys(_OFFSET_COLUMNS),
        **(_offsets(span, feed) if span and span.offsets_to else {}),
        "version_from": span.version_from if span else None,
        "version_to": span.version_to if span else None,
        "lag_rows": lag,
        "query": span.query if span else None,
    }


def _offsets(span: Span, feed: Feed) -> dict[str, list[tuple[int | str, int]]]:
    """What an ingest batch took, as pairs; of many topics those that it has rows of."""
    begins, ends = span.offsets_from, span.offsets_to
    if feed.source.declared.is_one:
        return {
            "offsets_from": [(partition, at) for (_, partition), at in begins.items()],
            "offsets_to": [(partition, at) for (_, partition), at in ends.items()],
        }
    moved = {place: end for place, end in ends.items() if begins.get(place, 0) != end}
    return {
        "topic_offsets_from": [(f"{n}/{p}", begins.get((n, p), 0)) for n, p in moved],
        "topic_offsets_to": [(f"{n}/{p}", end) for (n, p), end in moved.items()],
    }


def _seconds(seconds: Mapping[str, float]) -> dict[str, float | None]:
    parts = {f"{phase}_s": seconds.get(phase) for phase in _PHASES}
    return {"seconds": sum(seconds.values()), **parts}


def _micros(at: datetime) -> int:
    return round(at.timestamp() * 1_000_000)


def _pairs(found: Sequence[Sequence[Any]] | None) -> list[tuple[Any, Any]] | None:
    """A map as Arrow takes it; JSON makes lists of its pairs."""
    return None if found is None else [(key, value) for key, value in found]
