"""Counters of what batches and refreshes did: every name, unit and label that they have.

Labels are feed, stage, view and the like, never a key: a lake may have thousands of keys, and
each value of a label is a series that Prometheus keeps for weeks.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import prometheus_client as prometheus
from prometheus_client import CollectorRegistry, Gauge, Histogram, disable_created_metrics

from lake_assets.logs.entries import REFRESH, Entry
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Stage, ViewFailed
from lake_assets.model.tables import (
    STREAM_LOG,
    duplicates_of,
    erased_of,
    quarantine_of,
    waiting_of,
)

BATCH_PHASES = ("job", "commit")
REFRESH_PHASES = ("plan", "job", "commit")
WAYS = ("incremental", "full")

_BATCH_BUCKETS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_OF_INGEST = ("bronze",)
_OF_DEMUX = ("silver", "quarantine", "waiting", "dropped", "duplicate", "erased")


class Counted:
    """All counters of some feeds; each series is there from the beginning, with 0. Thread-safe."""

    def __init__(self, registry: CollectorRegistry, feeds: Sequence[Feed]) -> None:
        """Register them."""
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a second series beside each, that says when it began
        of_stage = ["feed", "stage"]
        of_view = ["feed", "view"]
        self._rows = prometheus.Counter(
            "lake_assets_rows",
            "Rows taken by a stage, by where they went: bronze, silver, quarantine, waiting (for "
            "the schema registry), dropped (by an expectation), duplicate (their event was there).",
            [*of_stage, "outcome"],
            registry=registry,
        )
        self._batches = prometheus.Counter(
            "lake_assets_batches",
            "Micro-batches, by result: committed, or refused by an expectation.",
            [*of_stage, "result"],
            registry=registry,
        )
        self._seconds = Histogram(
            "lake_assets_batch_seconds",
            "Seconds that micro-batches took.",
            of_stage,
            buckets=_BATCH_BUCKETS,
            registry=registry,
        )
        self._phases = prometheus.Counter(
            "lake_assets_batch_phase_seconds",
            "Seconds that micro-batches spent in a phase: job (Spark) and commit.",
            [*of_stage, "phase"],
            registry=registry,
        )
        self._commits = prometheus.Counter(
            "lake_assets_commits",
            "Commits to Delta tables by micro-batches, one a table.",
            of_stage,
            registry=registry,
        )
        self._files = prometheus.Counter(
            "lake_assets_files", "Data files that micro-batches wrote.", of_stage, registry=registry
        )
        self._violations = prometheus.Counter(
            "lake_assets_expectation_violations",
            "Rows that violated an expectation.",
            ["feed", "expectation"],
            registry=registry,
        )
        self._refreshes = prometheus.Counter(
            "lake_assets_view_refreshes",
            "Refreshes of keys of a gold view, by way: incremental or full.",
            [*of_view, "way"],
            registry=registry,
        )
        self._refresh_phases = prometheus.Counter(
            "lake_assets_view_refresh_phase_seconds",
            "Seconds that refreshes of a gold view spent in a phase: plan, job, commit.",
            [*of_view, "phase"],
            registry=registry,
        )
        self._refresh_failures = prometheus.Counter(
            "lake_assets_view_failures",
            "Refreshes of a gold view that failed.",
            of_view,
            registry=registry,
        )
        self._view_rows = prometheus.Counter(
            "lake_assets_view_rows_read",
            "Rows of silver that refreshes of a gold view read.",
            of_view,
            registry=registry,
        )
        self._refreshed_at = Gauge(
            "lake_assets_view_refreshed_timestamp_seconds",
            "When a gold view was last refreshed by the streams, in seconds since 1970.",
            of_view,
            registry=registry,
        )
        self._refresh_last = Gauge(
            "lake_assets_view_refresh_last_seconds",
            "Seconds that the last refresh of a gold view took.",
            of_view,
            registry=registry,
        )
        self._keys_held = Gauge(
            "lake_assets_deduplication_keys",
            "Keys of silver in memory, by which duplicates are told.",
            ["feed"],
            registry=registry,
        )
        self._keys_held_bytes = Gauge(
            "lake_assets_deduplication_bytes",
            "Bytes of memory of the keys by which duplicates are told.",
            ["feed"],
            registry=registry,
        )
        for feed in feeds:
            self._begin_batches(feed)
            self._begin_views(feed)

    def batch(self, report: BatchReport) -> None:
        """Count a micro-batch in."""
        feed, stage = report.feed, report.stage.value
        result = "committed" if report.is_committed else "refused"
        self._batches.labels(feed, stage, result).inc()
        violated = Counter[str]()  # a batch may have judged thousands of keys
        for (_, name), judged in report.judged.items():
            violated[name] += judged.violated
        for name, rows in violated.items():
            self._violations.labels(feed, name).inc(rows)
        if not report.is_committed:
            return
        for outcome, rows in outcomes_of(report).items():
            self._rows.labels(feed, stage, outcome).inc(rows)
        self._seconds.labels(feed, stage).observe(sum(report.seconds.values()))
        for phase, seconds in report.seconds.items():
            self._phases.labels(feed, stage, phase).inc(seconds)
        self._commits.labels(feed, stage).inc(_commits_of(report))
        self._files.labels(feed, stage).inc(report.files)
        if report.keys_held is not None:
            self._keys_held.labels(feed).set(report.keys_held)
            self._keys_held_bytes.labels(feed).set(report.keys_held_bytes)

    def refreshes(self, entries: Sequence[Entry]) -> None:
        """Count in what is logged of refreshes."""
        for row in _refreshes_in(entries):
            labels = (row["feed"], row["view"])
            for way in WAYS:
                self._refreshes.labels(*labels, way).inc(row[f"keys_{way}"])
            for phase in REFRESH_PHASES:
                self._refresh_phases.labels(*labels, phase).inc(row[f"{phase}_s"] or 0.0)
            self._view_rows.labels(*labels).inc(row["rows_read"])
            self._refreshed_at.labels(*labels).set(row["time"] / 1e6)
            self._refresh_last.labels(*labels).set(row["seconds"])

    def failure(self, event: ViewFailed) -> None:
        """Count in that a view could not be refreshed."""
        self._refresh_failures.labels(event.feed, event.view).inc()

    def _begin_batches(self, feed: Feed) -> None:
        for stage, outcomes in ((Stage.INGEST, _OF_INGEST), (Stage.DEMUX, _OF_DEMUX)):
            labels = (feed.feed, stage.value)
            for outcome in outcomes:
                self._rows.labels(*labels, outcome)
            for result in ("committed", "refused"):
                self._batches.labels(*labels, result)
            for phase in BATCH_PHASES:
                self._phases.labels(*labels, phase)
            for of_stage in (self._seconds, self._commits, self._files):
                of_stage.labels(*labels)
        for expectation in feed.expectations:
            self._violations.labels(feed.feed, expectation.name)

    def _begin_views(self, feed: Feed) -> None:
        for view in feed.gold:
            labels = (feed.feed, view.name)
            for way in WAYS:
                self._refreshes.labels(*labels, way)
            for phase in REFRESH_PHASES:
                self._refresh_phases.labels(*labels, phase)
            self._refresh_failures.labels(*labels)
            self._view_rows.labels(*labels)


def outcomes_of(report: BatchReport) -> Mapping[str, int]:
    """Rows of a committed batch by where they went."""
    if report.stage is Stage.INGEST:
        return {"bronze": sum(report.rows.values())}
    aside = {
        "quarantine": report.rows.get(quarantine_of(report.feed).name, 0),
        "waiting": report.rows.get(waiting_of(report.feed).name, 0),
        "duplicate": report.rows.get(duplicates_of(report.feed).name, 0),
        "erased": report.rows.get(erased_of(report.feed).name, 0),
    }
    kept = sum(report.rows.values()) - sum(aside.values())
    return {"silver": kept, **aside, "dropped": sum(report.dropped.values())}


def _commits_of(report: BatchReport) -> int:
    """Demux commits quarantine last, with or without rows: so a batch is known to be whole."""
    tables = set(report.rows)
    if report.stage is Stage.DEMUX:
        tables.add(quarantine_of(report.feed).name)
    return max(1, len(tables))


def _refreshes_in(entries: Sequence[Entry]) -> Iterator[Mapping[str, Any]]:
    for entry in entries:
        for row in entry.rows.get(STREAM_LOG.name, ()):
            if row["stage"] == REFRESH:
                yield row
