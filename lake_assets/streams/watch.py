"""What lets others watch the streams: their metrics and health, fed by them, served over HTTP.

Batches and refreshes are counted as they come. What has to be asked for (a source's end, memory,
the disk) is asked while somebody looks, every few seconds, in a thread of its own.
"""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from typing import TypeVar

from prometheus_client import CollectorRegistry, Gauge, Info

from lake_assets.delta.log_history import open_table, rows_since
from lake_assets.errors import SourceError, first_line
from lake_assets.logs.entries import Entry
from lake_assets.metrics.counted import Counted
from lake_assets.metrics.counted_sinks import CountedSinks
from lake_assets.metrics.health import FeedStatus, Health, StreamsStatus, liveness, readiness
from lake_assets.metrics.measured import Measured
from lake_assets.metrics.processes import memory_by_role
from lake_assets.metrics.server import Answers, serving
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.origins import ByPlace
from lake_assets.model.reports import BatchReport, DeliveryReport, SinkFailed, ViewFailed
from lake_assets.model.tables import bronze_of, files_of
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.sources.files.index import counted_files
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.progress import demux_position, ingested_offsets

_Event = TypeVar("_Event")

_LOG = logging.getLogger(__name__)

_EVERY_S = 10.0
"""Seconds between two looks while somebody watches."""

_MEMORY_EVERY_S = 30.0
"""Seconds between two looks at memory: of a JVM and eight workers one takes 50 ms of a core."""

_FILES_EVERY_S = 60.0
"""Seconds between two looks at a feed's files: of a million one reads their states."""

_WATCHED_FOR_S = 300.0
"""Seconds after somebody asked for which looks go on; Prometheus asks every minute or oftener."""

_FIRST_LOOK_S = 3.0
"""Seconds that whoever asks first waits for the first look."""

_PATIENCE_S = 2.0
"""Seconds for a source's answer; without one the lag is unknown."""


class Watch:
    """Takes in what the streams do, and tells it to whoever asks."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        endpoints: Endpoints | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; nothing is served or asked yet. Without endpoints no source is asked."""
        self.status: Callable[[], StreamsStatus] = lambda: StreamsStatus(
            is_running=True, feeds=dict.fromkeys(feed.feed for feed in supervised(feeds))
        )
        """How the streams are; set by who runs them."""
        self._settings = settings
        self._feeds = feeds
        self._without_silver = {feed.feed for feed in feeds if not feed.has_silver}
        self._endpoints = endpoints
        self._clock = clock
        self._asked_at = self._looked_at = self._weighed_at = float("-inf")
        self._files_seen: dict[str, tuple[int, float]] = {}
        self._trouble = ""
        self._stop = threading.Event()
        self._wanted, self._looked = threading.Event(), threading.Event()
        self._registry = CollectorRegistry()
        self._counted = Counted(self._registry, feeds)
        self._sinks = CountedSinks(self._registry, feeds)
        views = [(feed.feed, view.name) for feed in feeds for view in feed.gold]
        schedules = {feed.feed: feed.schedule for feed in feeds if feed.schedule is not None}
        self._measured = Measured(self._facts, views, clock, schedules)
        self._registry.register(self._measured)
        about = Info("lake_assets", "The release that runs the streams.", registry=self._registry)
        about.info({"version": version("lake-assets")})
        began = Gauge(
            "lake_assets_start_time_seconds",
            "When the streams began, in seconds since 1970.",
            registry=self._registry,
        )
        began.set_to_current_time()

    def batch(self, report: BatchReport) -> None:
        """Take in a batch; costs some hundredths of a millisecond."""
        self._counted.batch(report)
        self._measured.batch(report)
        if report.feed in self._without_silver:
            self._measured.demux_lag(report.feed, 0)  # demux takes nothing of it

    def lag(self, report: BatchReport, rows: int | None) -> None:
        """Take in how many rows of bronze demux has not taken after its batch, if that is known."""
        if rows is not None and report.span is not None and report.span.version_to is not None:
            self._measured.demux_lag(report.feed, rows)

    def ends(self, feed: str, ends: ByPlace) -> None:
        """Take in where a feed's source ends now, asked for by others."""
        self._measured.ends(feed, ends)

    def refreshes(self, entries: Sequence[Entry]) -> None:
        """Take in what is logged of refreshes."""
        self._counted.refreshes(entries)

    def event(self, event: _Event) -> _Event:
        """Take in what streams tell, and tell it on; a batch with how far its stage is behind."""
        if isinstance(event, ViewFailed):
            self._counted.failure(event)
        if isinstance(event, (DeliveryReport, SinkFailed)):
            self._sinks.add(event)
        if isinstance(event, BatchReport):
            lag = self._measured.lag_of(event.feed, event.stage)
            if lag is not None:
                rows, seconds = lag
                return replace(event, lag_rows=rows, lag_s=seconds)
        return event

    @contextmanager
    def serving(self) -> Iterator[str | None]:
        """Serve until the end of the block; the address, None if nothing is served."""
        answers = Answers(
            registry=self._registry,
            live=lambda: liveness(self.status()),
            ready=self._ready,
            asked=self._note_asked,
        )
        thread = threading.Thread(target=self._run, name="watch", daemon=True)
        with serving(self._settings.metrics, answers) as address:
            thread.start()
            try:
                yield address
            finally:
                self._stop.set()
                self._wanted.set()
                thread.join()

    def look(self) -> None:
        """Measure what has to be asked for; what cannot be measured is told in the log, once."""
        looks = [self._look_at_memory, self._look_at_disk]
        for feed in self._feeds:
            looks += [partial(self._look_at_source, feed), partial(self._look_at_bronze, feed)]
            if feed.source.files is not None:
                looks.append(partial(self._look_at_files, feed.feed))
        troubles = [trouble for look in looks if (trouble := _trouble_with(look))]
        told, self._trouble = self._trouble, "; ".join(dict.fromkeys(troubles))
        if self._trouble not in {told, ""}:
            _LOG.warning("metrics are incomplete: %s", self._trouble)

    def _facts(self) -> StreamsStatus:
        return self.status()

    def _ready(self) -> Health:
        return readiness(self.status(), self._settings.stream.stall_after_s)

    def _note_asked(self) -> None:
        self._asked_at = now = self._clock()
        if now - self._looked_at > 2 * _EVERY_S:
            self._looked.clear()
            self._wanted.set()
            self._looked.wait(_FIRST_LOOK_S)

    def _run(self) -> None:
        while True:
            # Cleared before all that is looked at: whoever asks meanwhile is not overlooked.
            self._wanted.clear()
            if self._stop.is_set():
                return
            is_watched = self._clock() - self._asked_at <= _WATCHED_FOR_S
            if is_watched:
                self.look()
                self._looked_at = self._clock()
                self._looked.set()
            self._wanted.wait(_EVERY_S if is_watched else None)

    def _look_at_memory(self) -> None:
        if self._clock() - self._weighed_at >= _MEMORY_EVERY_S:
            self._measured.memory(memory_by_role())
            self._weighed_at = self._clock()

    def _look_at_disk(self) -> None:
        lake = self._settings.disk_dir.absolute()  # not there before its first table
        usage = shutil.disk_usage(next(p for p in (lake, *lake.parents) if p.exists()))
        self._measured.disk(free=usage.free, size=usage.total)

    def _look_at_bronze(self, feed: Feed) -> None:
        """How far demux is behind, as long as no batch has told."""
        if self._measured.is_demux_lag_known(feed.feed) or not feed.has_silver:
            return
        lake = lake_of(self._settings)
        bronze = open_table(lake, bronze_of(feed.feed))
        if bronze is not None:
            since = demux_position(lake, feed).bronze.version + 1
            self._measured.demux_lag(feed.feed, rows_since(bronze, since))

    def _look_at_files(self, feed: str) -> None:
        """How many files were found and have changed since, where the index has news."""
        seen, at = self._files_seen.get(feed, (-1, float("-inf")))
        if self._clock() - at < _FILES_EVERY_S:
            return
        lake = lake_of(self._settings)
        index = open_table(lake, files_of(feed))
        if index is not None and index.version() != seen:
            self._measured.files(feed, counted_files(lake, feed))
            self._files_seen[feed] = index.version(), self._clock()

    def _look_at_source(self, feed: Feed) -> None:
        if self._endpoints is None or self._measured.ends_age(feed.feed) < _EVERY_S:
            return
        try:
            source = source_of(feed, self._endpoints, lake_of(self._settings))
            extent = source.extent(timeout_s=_PATIENCE_S)
        except SourceError:
            return  # the lag is unknown; that the feed waits is told otherwise
        self._measured.ends(feed.feed, extent.ends)
        if not self._measured.is_taken_known(feed.feed):
            held = ingested_offsets(lake_of(self._settings), feed)
            self._measured.taken(feed.feed, {**extent.begins, **held})


def _trouble_with(look: Callable[[], None]) -> str:
    """What was wrong with a look; the others go on, and the next may succeed."""
    try:
        look()
    except Exception as problem:  # noqa: BLE001 - told in the log, and streams go on
        return first_line(problem) or type(problem).__name__
    return ""


def waiting_status(feeds: Sequence[Feed], reason: str) -> StreamsStatus:
    """Of streams that have not begun, since they wait for something."""
    waits = FeedStatus(is_running=True, quiet_s=0.0, waiting_for=reason)
    return StreamsStatus(is_running=True, feeds={feed.feed: waits for feed in feeds})
