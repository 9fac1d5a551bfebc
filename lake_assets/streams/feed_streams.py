"""One feed's streams in a thread of their own: what goes wrong with it is its own.

Ingest is Spark's streaming query; demux runs here. Both are started again after an error, with
growing pauses, so that another feed goes on meanwhile; whether anything goes on at all is the
worker's to judge.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from lake_assets.delta.table_owners import is_there
from lake_assets.errors import (
    LakeAssetsError,
    RegistryError,
    SourceError,
    SourceNotFoundError,
    StreamError,
)
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage, Waiting
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.state.disk_errors import disk_trouble
from lake_assets.streams.demux_loop import Follower
from lake_assets.streams.pipeline import Pipeline, catch_up_of, demux_of, follower_of, start_ingest
from lake_assets.streams.reprocess import finish_interrupted
from lake_assets.streams.schemas import Schemas, format_with
from lake_assets.streams.triggers import demux_every_s, retry_delay_s
from lake_assets.streams.usable_tables import ensure_streamable
from lake_assets.streams.waiting_rows import CatchUp

_PAUSE_S = 2.0
"""Seconds between two tries to reach a broker, or to write a disk that is full."""

_HEALTHY_AFTER_S = 300.0
"""A feed that ran this long begins a new count of failures."""


@dataclass(kw_only=True)
class FeedStreams:
    """Runs a feed's ingest and demux until it is told to stop, or has caught up."""

    pipeline: Pipeline
    settings: Settings
    feed: Feed
    until_caught_up: bool
    announce: Callable[[Waiting], None]
    stop: threading.Event
    goes_on: Callable[[], bool]
    """Whether another feed is well: if none is, a failure ends the streams."""

    progressed_at: float = field(default_factory=time.monotonic)
    """When a batch last ended, or there was last nothing to do; as `time.monotonic`."""

    waiting: Waiting | None = None
    """What the feed waits for, if it does."""

    failure: BaseException | None = None
    """Of a feed that failed and has not run well since."""

    query_failure: LakeAssetsError | None = None
    """Of ingest's query, in our words; Spark passes it on as text alone."""

    is_new: bool = False
    """Whether it failed for lack of a source, and bronze has nothing of one."""

    _failures: int = 0
    _wakes: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Run until stopped, or until caught up; a failure is kept in `failure`."""
        # A session of its own: others may plan with other settings at the same time.
        self.pipeline = replace(self.pipeline, session=self.pipeline.session.newSession())
        while not self.stop.is_set():
            began = time.monotonic()
            try:
                self._stream()
            except Exception as problem:  # noqa: BLE001 - each feed's trouble is its own
                trouble = disk_trouble(self.query_failure or problem)
                if trouble:
                    self._await_disk(trouble)
                    continue
                self._note(problem, lived_s=time.monotonic() - began)
                if not self.goes_on():
                    return
                self._tell(f"feed {self.feed.feed!r} failed, and others go on: {self.failure}")
                if self.until_caught_up:
                    return
                self._pause(retry_delay_s(self._failures))
            else:
                return

    def wake(self) -> None:
        """Tell that there may be something new in bronze."""
        self._wakes.set()

    def _note(self, problem: Exception, *, lived_s: float) -> None:
        self.failure = self.query_failure or told(problem)
        bronze = bronze_of(self.feed.feed)
        self.is_new = isinstance(self.failure, SourceNotFoundError) and not is_there(
            self.pipeline.context.lake, bronze
        )
        self.query_failure = None
        self._failures = 1 if lived_s >= _HEALTHY_AFTER_S else self._failures + 1

    def _await_disk(self, trouble: str) -> None:
        """Say what is wrong with the disk, and wait before the next try."""
        self.query_failure = None
        self._tell(
            f"{self.settings.lake_dir}: {trouble}. Free some; the streams go on by themselves"
        )
        self._pause(_PAUSE_S)

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.stop.wait(min(1.0, seconds)):
            self.progressed_at = time.monotonic()

    def _tell(self, reason: str, stage: Stage = Stage.INGEST) -> None:
        self.waiting = Waiting(feed=self.feed.feed, stage=stage, reason=reason)
        self.announce(self.waiting)

    def _stream(self) -> None:
        ensure_streamable(self.pipeline.context, self.feed)
        finish_interrupted(self.pipeline.context, self.settings, self.feed)
        if not self._await_source():
            return
        query = start_ingest(self.pipeline, self.feed, until_caught_up=self.until_caught_up)
        try:
            self._follow(query)
        finally:
            query.stop()

    def _follow(self, query: StreamingQuery) -> None:
        schemas = Schemas(
            feed=self.feed,
            format=format_with(self.settings, self.pipeline.endpoints, self.feed),
            stop=self.stop,
            announce=self._announce,
            # Whoever wants all rows in silver waits for them.
            may_wait=not self.until_caught_up,
        )
        demux = demux_of(self.pipeline, self.feed, schemas)
        follower = follower_of(self.pipeline, demux)
        catch_up = catch_up_of(self.pipeline, demux, schemas)
        follower.recover()
        try:
            schemas.check()
        except RegistryError:
            pass  # the first batch waits for it, while ingest goes on
        else:
            demux.prepare(self.pipeline.session)
        self._loop(query, follower, catch_up)

    def _loop(self, query: StreamingQuery, follower: Follower, catch_up: CatchUp) -> None:
        every_s = demux_every_s(self.feed, self.settings.stream)
        while not self.stop.is_set():
            self._wakes.clear()
            is_over = not query.isActive
            if is_over:
                self._raise_if_failed(query)
            catch_up.tick()
            if follower.step():
                self.failure, self.waiting = None, None
                self.progressed_at = time.monotonic()
                continue
            if is_over:
                return
            if not query.status["isTriggerActive"]:
                self.failure = None
                self.progressed_at = time.monotonic()
            self._wakes.wait(every_s)

    def _raise_if_failed(self, query: StreamingQuery) -> None:
        problem = query.exception()
        if problem is not None and not self.stop.is_set():
            raise self.query_failure or problem

    def _await_source(self) -> bool:
        """Wait until the feed's source can be read; with `until_caught_up` there is no waiting."""
        while not self.stop.is_set():
            try:
                source_of(self.feed, self.pipeline.endpoints).extent()
            except SourceError as problem:
                if self.until_caught_up:
                    raise
                self._tell(str(problem))
                self._pause(_PAUSE_S)
            else:
                self.waiting = None
                return True
        return False

    def _announce(self, waiting: Waiting | None) -> None:
        self.waiting = waiting
        if waiting is not None:
            self.announce(waiting)


def told(problem: Exception) -> LakeAssetsError | Exception:
    """A failure in our words, where Spark tells it."""
    if isinstance(problem, StreamingQueryException | PySparkException):
        step = "Repair the cause; the streams go on where they were"
        return StreamError("streams", _cause_of(problem), step)
    return problem


def _cause_of(problem: Exception) -> str:
    """The innermost line of a Spark error's message that says something."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by")] or lines[:1]
    return causes[-1][:300]
