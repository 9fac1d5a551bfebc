"""One feed's streams in a thread of their own: what goes wrong with it is its own.

Ingest is Spark's streaming query; demux runs here. Both are started again after an error, with
growing pauses, so that another feed goes on meanwhile; whether anything goes on at all is the
worker's to judge.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pyspark.sql.streaming.query import StreamingQuery

from lake_assets.delta.table_owners import is_there
from lake_assets.errors import (
    LakeAssetsError,
    PoisonedBatchError,
    RegistryError,
    SourceError,
    SourceNotFoundError,
)
from lake_assets.model.reports import Stage, Waiting
from lake_assets.model.tables import bronze_of
from lake_assets.runtime.log_lines import about
from lake_assets.sources.catalog import source_of
from lake_assets.state.disk_errors import disk_trouble
from lake_assets.streams.batch_attempts import FeedAttempts
from lake_assets.streams.batch_errors import did_not_start, told
from lake_assets.streams.clock_steps import ClockSteps
from lake_assets.streams.feed_waits import LOOK_EVERY_S, FeedWaits
from lake_assets.streams.pipeline import catch_up_of, demux_of, follower_of, start_ingest
from lake_assets.streams.reprocess import finish_interrupted
from lake_assets.streams.schemas import Schemas, format_with
from lake_assets.streams.single_pass import SinglePass
from lake_assets.streams.skip_batch import skip_asked_batches
from lake_assets.streams.skip_request import is_released
from lake_assets.streams.source_changes import has_changed
from lake_assets.streams.triggers import demux_every_s, retry_delay_s
from lake_assets.streams.usable_tables import ensure_streamable

_PAUSE_S = 2.0
"""Seconds between two tries to reach a broker, or to write a disk that is full."""

_HEALTHY_AFTER_S = 300.0
"""A feed that ran this long begins a new count of failures."""


@dataclass(kw_only=True)
class FeedStreams(FeedWaits):
    """Runs a feed's ingest and demux until it is told to stop, or has caught up."""

    goes_on: Callable[[], bool]
    """Whether another feed is well: if none is, a failure ends the streams."""

    query_failure: Exception | None = None
    """What ended ingest's query; Spark passes it on as text alone."""

    is_new: bool = False
    """Whether it failed for lack of a source, and bronze has nothing of one."""

    _failures: int = 0
    _there: tuple[str, ...] = ()
    """Sources that were there when ingest's query was started."""

    _wakes: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Run until stopped, or until caught up; a failure is kept in `failure`."""
        with about(feed=self.feed.feed):
            self._run()

    def _run(self) -> None:
        # A session of its own: others may plan with other settings at the same time.
        self.pipeline = replace(
            self.pipeline,
            session=self.pipeline.session.newSession(),
            attempts=FeedAttempts.of(self.settings.state_dir, self.feed),
        )
        while not self.stop.is_set() and self._is_started():
            began = time.monotonic()
            try:
                is_again = self._stream()
            except Exception as problem:  # noqa: BLE001 - each feed's trouble is its own
                is_again = self._goes_on_after(problem, lived_s=time.monotonic() - began)
            if not is_again:
                return

    def wake(self) -> None:
        """Tell that there may be something new in bronze."""
        self._wakes.set()

    def end(self) -> None:
        """Tell that `stop` is set: a batch in hand that is killed now is not to blame for it."""
        if self.pipeline.attempts is not None:
            self.pipeline.attempts.end()
        self._wakes.set()

    def _goes_on_after(self, problem: Exception, *, lived_s: float) -> bool:
        """Take account of a failure; whether to stream again, once what is waited for may be."""
        if self._is_waited_for(problem) or self._is_tried_again(problem):
            return True
        self._note(problem, lived_s=lived_s)
        if isinstance(problem, PoisonedBatchError):
            return self._is_released(problem)
        if not self.goes_on():
            return False
        self._tell(f"feed {self.feed.feed!r} failed, and others go on: {self.failure}")
        if self.until_caught_up:
            return False
        self._pause(retry_delay_s(self._failures))
        return True

    def _is_waited_for(self, failure: Exception) -> bool:
        """Whether a failure passes by itself, once a disk or a source is there again."""
        if trouble := disk_trouble(failure):
            self._await(
                f"{self.settings.lake_root}: {trouble}. Free some; the streams go on by themselves"
            )
            return True
        if isinstance(failure, SourceError) and not self.until_caught_up:
            self._await(str(failure))
            return True
        return False

    def _is_tried_again(self, failure: Exception) -> bool:
        """Whether a batch, or its start, failed by what nobody foresaw: tried again at once."""
        attempts = self.pipeline.attempts
        counted, self._counted = self._counted, attempts.counted if attempts else 0
        is_final = self.until_caught_up or isinstance(failure, LakeAssetsError)
        if is_final or (counted == self._counted and not did_not_start(failure)):
            return False
        self._await(f"feed {self.feed.feed!r} failed and tries again: {told(failure)}")
        return True

    def _is_released(self, failure: PoisonedBatchError) -> bool:
        """Stand still until somebody has the batch skipped or tried again; False if told to end."""
        self.stopped, self.waiting = str(failure), None
        stage = Stage(failure.stage)
        self.announce(Waiting(feed=self.feed.feed, stage=stage, reason=str(failure)))
        while not self.until_caught_up and not self.stop.wait(LOOK_EVERY_S):
            is_over = is_released(self.settings.state_dir, self.feed, stage) or self._is_to_stop()
            if is_over:
                self._begin_anew()
                return True
        return False

    def _note(self, problem: Exception, *, lived_s: float) -> None:
        self.failure = told(problem)
        lake, bronze = self.pipeline.context.lake, bronze_of(self.feed.feed)
        is_gone = isinstance(self.failure, SourceNotFoundError)
        self.is_new = is_gone and not is_there(lake, bronze)
        self._failures = 1 if lived_s >= _HEALTHY_AFTER_S else self._failures + 1

    def _await(self, reason: str) -> None:
        """Say what is waited for, and wait before the next try."""
        self._tell(reason)
        self._pause(_PAUSE_S)

    def _stream(self) -> bool:
        """Stream until stopped or caught up; True if the source or the clock was changed: again."""
        ensure_streamable(self.pipeline.context, self.feed)
        finish_interrupted(self.pipeline.context, self.settings, self.feed)
        if not self._await_source():
            return True  # unless it is told to end
        skip_asked_batches(self.pipeline, self.feed)
        single_pass = SinglePass.of(self.pipeline, self.feed)
        self.query_failure = None
        query = start_ingest(
            self.pipeline, self.feed, until_caught_up=self.until_caught_up, take=single_pass
        )
        try:
            return self._follow(query, single_pass)
        finally:
            single_pass.join(None)
            query.stop()

    def _follow(self, query: StreamingQuery, single_pass: SinglePass) -> bool:
        if not self.feed.has_silver:
            single_pass.join(None)
            return self._loop(query, lambda: False)
        schemas = Schemas(
            feed=self.feed,
            format=format_with(
                self.settings, self.pipeline.endpoints, self.feed, self.pipeline.session
            ),
            stop=self.stop,
            announce=self._announce,
            # Whoever wants all rows in silver waits for them.
            may_wait=not self.until_caught_up,
        )
        demux = demux_of(self.pipeline, self.feed, schemas)
        follower = follower_of(self.pipeline, demux)
        catch_up = catch_up_of(self.pipeline, demux, schemas)
        single_pass.recover(follower)
        try:
            schemas.check()
        except RegistryError:
            pass  # the first batch waits for it, while ingest goes on
        else:
            demux.prepare(self.pipeline.session)
        single_pass.join(follower)

        def step() -> bool:
            with single_pass.alone():
                catch_up.tick()
                return follower.step()

        return self._loop(query, step)

    def _loop(self, query: StreamingQuery, step: Callable[[], bool]) -> bool:
        every_s = demux_every_s(self.feed, self.settings.stream)
        with ClockSteps().watched() as clock:
            while not self.stop.is_set():
                if self._is_to_stop():
                    return True
                self._wakes.clear()
                is_over = not query.isActive
                if is_over and self._has_lost_source(query):
                    return True
                if step():
                    self.failure, self.waiting = None, None
                    self.progressed_at = time.monotonic()
                    continue
                if is_over:
                    return False
                if not query.status["isTriggerActive"]:
                    if clock.went_back():
                        return True
                    self.failure = None
                    self.progressed_at = time.monotonic()
                self._wakes.wait(every_s)
        return False

    def _has_lost_source(self, query: StreamingQuery) -> bool:
        """Whether ingest failed since its source changed; raises what it failed by else."""
        problem = query.exception()
        if problem is None or self.stop.is_set():
            return False
        failure, lake = self.query_failure or problem, self.pipeline.context.lake
        source = source_of(self.feed, self.pipeline.endpoints, lake)
        if disk_trouble(failure) or not has_changed(source, lake, self.feed, self._there):
            raise failure
        return True

    def _await_source(self) -> bool:
        """Wait until the feed's source can be read; with `until_caught_up` there is no waiting."""
        source = source_of(self.feed, self.pipeline.endpoints, self.pipeline.context.lake)
        while not self.stop.is_set() and not self._is_to_stop():
            try:
                self._there = source.extent().names
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
