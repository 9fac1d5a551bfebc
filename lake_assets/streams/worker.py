"""The thread that owns Spark while the streams run: starts the queries, watches them, ends them."""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from lake_assets.errors import LakeAssetsError, RegistryError, SourceError, StreamError
from lake_assets.lake.means import lake_means
from lake_assets.lake.session import start_session
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Hop, Waiting
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.settings.schema import Settings
from lake_assets.sources.topics import end_offsets
from lake_assets.streams.plan import Road, catch_up_of, demux_of, start_demux, start_ingest
from lake_assets.streams.redo import finish_interrupted
from lake_assets.streams.schemas import Schemas, cached_registry
from lake_assets.streams.waiting import CatchUp

_LOOK_EVERY_S = 0.5
"""Seconds between two looks at the queries; each look is two cheap py4j calls a query."""

_PAUSE_S = 2.0
"""Seconds between two tries to reach a broker."""


class Worker:
    """Runs the queries of some feeds in a thread of its own."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        endpoints: Endpoints,
        outbox: "queue.Queue[BatchReport | Waiting]",
        *,
        until_caught_up: bool,
        heard: Callable[[BatchReport], None],
    ) -> None:
        """Prepare the thread; nothing starts yet.

        Args:
            settings: where the lake is.
            feeds: what to run.
            endpoints: broker and registry.
            outbox: gets what happens, for the caller's thread.
            until_caught_up: end when all that was there at the start is in silver.
            heard: is told of each batch before Spark may count it as done; must be quick.
        """
        self._settings = settings
        self._feeds = feeds
        self._endpoints = endpoints
        self._outbox = outbox
        self._until_caught_up = until_caught_up
        self._heard = heard
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._catch_ups: list[CatchUp] = []
        self._batch_failure: LakeAssetsError | None = None
        self._thread = threading.Thread(target=self._run, name="streams", daemon=True)
        self.progressed_at = time.time()
        """When a batch last ended, or there was last nothing to do; seconds since 1970."""
        self.waiting: Waiting | None = None
        """What a query waits for, if one does."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ask the thread to end and wait for it; the batch in hand is finished first."""
        self._stop.set()
        self._thread.join()

    def raise_failure(self) -> None:
        """Raise what ended the thread, if it was an error."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._stream()
        except BaseException as problem:  # noqa: BLE001 - raised again in the caller's thread
            self._failure = problem

    def _stream(self) -> None:
        runtime = ensure_runtime(self._settings)
        session = start_session(self._settings, runtime)
        try:
            with lake_means(self._settings) as means:
                road = Road(
                    session=session,
                    endpoints=self._endpoints,
                    means=means,
                    stream=self._settings.stream,
                    state_dir=self._settings.state_dir,
                    report=self._report,
                    failed=self._note_failure,
                )
                self._run_queries(road)
        finally:
            session.stop()

    def _run_queries(self, road: Road) -> None:
        for feed in self._feeds:
            finish_interrupted(road.means, self._settings, feed)
            self._await_topic(feed)
        if self._until_caught_up:
            for hop in Hop:
                with self._running([self._start(road, feed, hop) for feed in self._feeds]) as live:
                    self._watch(live)
            return
        queries = [self._start(road, feed, hop) for feed in self._feeds for hop in Hop]
        with self._running(queries) as live:
            self._watch(live)

    def _start(self, road: Road, feed: Feed, hop: Hop) -> StreamingQuery:
        if hop is Hop.INGEST:
            return start_ingest(road, feed, until_caught_up=self._until_caught_up)
        schemas = Schemas(
            feed=feed,
            registry=cached_registry(self._settings, self._endpoints),
            stop=self._stop,
            announce=self._announce,
            # Whoever wants all rows in silver waits for them.
            may_wait=not self._until_caught_up,
        )
        demux = demux_of(road, feed, schemas)
        catch_up = catch_up_of(road, demux, schemas)
        catch_up.prepare()
        self._catch_ups.append(catch_up)
        try:
            schemas.check()
        except RegistryError:
            pass  # the first batch waits for it, while ingest goes on
        else:
            demux.prepare(road.session)
        if self._until_caught_up:
            catch_up.tick()
        return start_demux(road, demux, until_caught_up=self._until_caught_up)

    @contextmanager
    def _running(self, queries: list[StreamingQuery]) -> Iterator[list[StreamingQuery]]:
        try:
            yield queries
        finally:
            for query in queries:
                query.stop()

    def _watch(self, queries: list[StreamingQuery]) -> None:
        """Look at the queries until they end or the thread is asked to."""
        while not self._stop.wait(_LOOK_EVERY_S):
            ended = [query for query in queries if not query.isActive]
            for query in ended:
                self._raise_if_failed(query)
            if len(ended) == len(queries):
                return
            for catch_up in self._catch_ups:
                catch_up.tick()
            if self.waiting or not any(q.status["isTriggerActive"] for q in queries if q.isActive):
                self.progressed_at = time.time()

    def _raise_if_failed(self, query: StreamingQuery) -> None:
        problem = query.exception()
        if problem is None or self._stop.is_set():
            return
        if self._batch_failure is not None:
            raise self._batch_failure from problem
        raise StreamError(
            "streams", _cause_of(problem), "Mend the cause; the streams go on where they were"
        ) from problem

    def _await_topic(self, feed: Feed) -> None:
        """Wait until the feed's topic can be read; with `until_caught_up` there is no waiting."""
        while True:
            try:
                end_offsets(self._endpoints, feed.source.kafka.topic)
            except SourceError as problem:
                if self._until_caught_up:
                    raise
                self._announce(Waiting(feed=feed.feed, hop=Hop.INGEST, reason=str(problem)))
                self.progressed_at = time.time()
                if self._stop.wait(_PAUSE_S):
                    raise
            else:
                self._announce(None)
                return

    def _report(self, report: BatchReport) -> None:
        self.progressed_at = time.time()
        self._heard(report)
        self._outbox.put(report)

    def _note_failure(self, problem: LakeAssetsError) -> None:
        self._batch_failure = problem

    def _announce(self, waiting: Waiting | None) -> None:
        self.waiting = waiting
        if waiting is not None:
            self._outbox.put(waiting)


def _cause_of(problem: StreamingQueryException) -> str:
    """The innermost line of a failed query's message that says something."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    causes = [line for line in lines if line.startswith("Caused by")] or lines[:1]
    return causes[-1][:300]
