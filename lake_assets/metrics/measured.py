"""Gauges of how things stand when somebody asks: lag, waiting, memory, disk, refreshes under way.

Made at each scrape from what was noted before; nobody is asked and nothing is read for it.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lake_assets.metrics.counted import outcomes_of
from lake_assets.metrics.end_history import EndHistory
from lake_assets.metrics.health import StreamsStatus
from lake_assets.model.cron import next_tick
from lake_assets.model.origins import ByPlace, Place
from lake_assets.model.reports import BatchReport, Stage

_KNOWN_FOR_S = 60.0
"""Seconds for which a look at a source's end tells anything; then its lag is unknown."""


@dataclass(slots=True)
class _Lag:
    """Of one feed: ingest's by name and partition of what it reads, and demux's."""

    ends: dict[Place, EndHistory] = field(default_factory=dict)
    taken: dict[Place, int] | None = None
    """Likewise, the offset after the last that is in bronze; None if that is not known yet."""

    bronze: EndHistory = field(default_factory=EndHistory)
    """Its end is the number of rows that came into bronze since the process began."""

    demuxed: int = 0
    """How many of them demux has taken; below 0 where rows of before are not."""


class Measured(Collector):
    """Notes what is measured, and makes gauges of it. Thread-safe."""

    def __init__(
        self,
        status: Callable[[], StreamsStatus],
        views: Sequence[tuple[str, str]] = (),
        clock: Callable[[], float] = time.monotonic,
        schedules: Mapping[str, str] | None = None,
    ) -> None:
        """Nothing is known yet.

        Args:
            status: how the streams are; called at each scrape, so it must be quick and not raise.
            views: feed and name of the gold views that there are.
            clock: seconds, only ever growing.
            schedules: by feed that has one, the cron expression of its runs.
        """
        self._status = status
        self._schedules = schedules or {}
        self._views = views
        self._clock = clock
        self._lock = threading.Lock()
        self._lags: dict[str, _Lag] = {}
        self._memory: Mapping[str, int] = {}
        self._disk: tuple[int, int] | None = None
        self._files: dict[str, Mapping[str, int]] = {}

    def batch(self, report: BatchReport) -> None:
        """Note how far a batch has come."""
        if not report.is_committed:
            return
        with self._lock:
            lag = self._lags.setdefault(report.feed, _Lag())
            rows = sum(outcomes_of(report).values())
            if report.stage is Stage.INGEST:
                if report.span is not None:
                    lag.taken = {**(lag.taken or {}), **report.span.offsets_to}
                lag.bronze.note(self._clock(), (lag.bronze.end or 0) + rows)
            else:
                lag.demuxed = min(lag.demuxed + rows, lag.bronze.end or 0)

    def taken(self, feed: str, offsets: ByPlace) -> None:
        """Note how far bronze is by its own commits; what batches tell goes first."""
        with self._lock:
            lag = self._lags.setdefault(feed, _Lag())
            lag.taken = {**offsets, **(lag.taken or {})}

    def is_taken_known(self, feed: str) -> bool:
        """Whether it is known how far bronze is."""
        with self._lock:
            return feed in self._lags and self._lags[feed].taken is not None

    def lag_of(self, feed: str, stage: Stage) -> tuple[int, float] | None:
        """Rows and seconds that a stage is behind now; None if that is not known."""
        now = self._clock()
        with self._lock:
            lag = self._lags.get(feed)
            if lag is None:
                return None
            if stage is Stage.DEMUX:
                return _behind(lag.bronze, lag.demuxed, now) if lag.bronze.points else None
            found = [_behind(ends, at, now) for ends, at in self._known(lag, now).values()]
        if not found:
            return None
        return sum(rows for rows, _ in found), max(seconds for _, seconds in found)

    def is_demux_lag_known(self, feed: str) -> bool:
        """Whether anything is known of how far demux is behind bronze."""
        with self._lock:
            return feed in self._lags and self._lags[feed].bronze.end is not None

    def ends(self, feed: str, ends: ByPlace) -> None:
        """Note where what a feed reads ends now, by name and partition."""
        now = self._clock()
        with self._lock:
            lag = self._lags.setdefault(feed, _Lag())
            for place, end in ends.items():
                lag.ends.setdefault(place, EndHistory()).note(now, end)
            for gone in lag.ends.keys() - ends.keys():
                del lag.ends[gone]

    def ends_age(self, feed: str) -> float:
        """Seconds since a feed's source was looked at; infinite if nobody has."""
        with self._lock:
            ends = self._lags[feed].ends if feed in self._lags else {}
            seen = [history.seen_at for history in ends.values() if history.seen_at is not None]
        return self._clock() - min(seen) if seen else float("inf")

    def demux_lag(self, feed: str, rows: int) -> None:
        """Note how many rows of bronze demux has not taken, as bronze's log tells."""
        with self._lock:
            lag = self._lags.setdefault(feed, _Lag())
            if lag.bronze.end is None:
                lag.bronze.note(self._clock(), 0)
            lag.demuxed = (lag.bronze.end or 0) - rows

    def memory(self, by_role: Mapping[str, int]) -> None:
        """Note bytes of memory, as `processes.memory_by_role`."""
        self._memory = by_role

    def disk(self, *, free: int, size: int) -> None:
        """Note the bytes of the lake's disk."""
        self._disk = (free, size)

    def files(self, feed: str, by_state: Mapping[str, int]) -> None:
        """Note how many files a feed has found, by state."""
        with self._lock:
            self._files[feed] = by_state

    def collect(self) -> Iterator[Metric]:
        """All gauges, as of now."""
        status, now = self._status(), self._clock()
        with self._lock:
            yield from self._source_lags(now)
            yield from self._demux_lags(now)
            files = _gauge(
                "source_files",
                "Files of a feed of files, by state: found (all that were), bad (they cannot be "
                "read), grown and rewritten (they changed since, and are not read again).",
                "feed",
                "state",
            )
            for feed, by_state in self._files.items():
                for state, count in by_state.items():
                    files.add_metric([feed, state], count)
        yield files
        yield from _feeds(status)
        yield self._next_runs(datetime.now(UTC))
        refreshing = _gauge(
            "view_refreshing_seconds",
            "Seconds since the refresh of a gold view began that is under way; 0 if none is.",
            "feed",
            "view",
        )
        for feed, view in self._views:
            refreshing.add_metric([feed, view], status.refreshing.get(f"{feed}.{view}", 0.0))
        yield refreshing
        memory = _gauge(
            "memory_bytes",
            "Memory of the streams' processes: driver (Python), jvm, python_workers.",
            "process",
        )
        for role, size in self._memory.items():
            memory.add_metric([role], size)
        yield memory
        if self._disk is not None:
            free = _gauge("disk_free_bytes", "Bytes that are free on the lake's disk.")
            free.add_metric([], self._disk[0])
            whole = _gauge("disk_size_bytes", "Bytes of the lake's disk.")
            whole.add_metric([], self._disk[1])
            yield from (free, whole)

    def _next_runs(self, now: datetime) -> Metric:
        runs = _gauge(
            "feed_next_run_timestamp_seconds",
            "When a feed with a schedule runs next, in seconds since 1970; of no others.",
            "feed",
        )
        for feed, cron in self._schedules.items():
            tick = next_tick(cron, now)
            if tick is not None:
                runs.add_metric([feed], tick.timestamp())
        return runs

    def _source_lags(self, now: float) -> Iterator[Metric]:
        rows = _gauge(
            "source_lag_rows",
            "Rows of a source's partition that are not in bronze.",
            "feed",
            "source",
            "partition",
        )
        seconds = _gauge(
            "source_lag_seconds",
            "Seconds since the first of these rows came; 0 without any.",
            "feed",
            "source",
            "partition",
        )
        for feed, lag in self._lags.items():
            for (name, partition), (ends, at) in sorted(self._known(lag, now).items()):
                lag_rows, lag_s = _behind(ends, at, now)
                rows.add_metric([feed, name, str(partition)], lag_rows)
                seconds.add_metric([feed, name, str(partition)], lag_s)
        yield from (rows, seconds)

    @staticmethod
    def _known(lag: _Lag, now: float) -> Mapping[Place, tuple[EndHistory, int]]:
        """By partition of what is read whose lag is known, its ends and how far bronze is."""
        taken = lag.taken
        if taken is None:
            return {}
        return {
            place: (ends, taken.get(place, 0))
            for place, ends in lag.ends.items()
            if ends.seen_at is not None and now - ends.seen_at <= _KNOWN_FOR_S
        }

    def _demux_lags(self, now: float) -> Iterator[Metric]:
        rows = _gauge("demux_lag_rows", "Rows of bronze that demux has not taken.", "feed")
        seconds = _gauge(
            "demux_lag_seconds",
            "Seconds since the first of these rows came into bronze; 0 without any.",
            "feed",
        )
        for feed, lag in self._lags.items():
            if lag.bronze.end is not None:
                lag_rows, lag_s = _behind(lag.bronze, lag.demuxed, now)
                rows.add_metric([feed], lag_rows)
                seconds.add_metric([feed], lag_s)
        yield from (rows, seconds)


def _behind(ends: EndHistory, position: int, now: float) -> tuple[int, float]:
    return ends.rows_behind(position), ends.seconds_behind(position, now)


def _feeds(status: StreamsStatus) -> Iterator[Metric]:
    quiet = _gauge(
        "feed_quiet_seconds",
        "Seconds since a feed's streams last ended a batch, or had nothing to do.",
        "feed",
    )
    waiting = _gauge(
        "feed_waiting", "1 if a feed waits for a broker, a registry or a disk, else 0.", "feed"
    )
    failed = _gauge("feed_failed", "1 if a feed failed and has not run well since, else 0.", "feed")
    stopped = _gauge("feed_stopped", "1 if somebody stopped a feed's stream, else 0.", "feed")
    for name, feed in status.feeds.items():
        waiting.add_metric([name], int(feed is not None and feed.waiting_for is not None))
        failed.add_metric([name], int(feed is not None and feed.failure is not None))
        stopped.add_metric([name], int(feed is not None and feed.stopped_by is not None))
        if feed is not None:
            quiet.add_metric([name], feed.quiet_s)
    yield from (quiet, waiting, failed, stopped)


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"lake_assets_{name}", text, labels=labels)
