"""The thread that owns Spark while the streams run: a thread a feed is started, watched, ended."""

import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from lake_assets.gold.run import Warm
from lake_assets.logs.entries import Entry
from lake_assets.metrics.health import FeedStatus, StreamsStatus
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, GoldEvent, Stage, Waiting
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.runtime.wait_through import wait_through
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.session import start_session
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.live_gold import LiveGold
from lake_assets.streams.pipeline import Pipeline
from lake_assets.streams.refresh_requests import RequestServer

_LOG = logging.getLogger(__name__)

_SLOTS_OF_A_VIEW = 16
"""For its tasks, which wait for each other's end and not for the streams': one a stage and core but
one, unless its SQL asks for more (`repartition`). An empty slot costs nothing."""

_LOOK_EVERY_S = 0.5
"""Seconds between two looks at the feeds' threads."""


class Worker:
    """Runs the streams of some feeds in threads of its own."""

    def __init__(  # noqa: PLR0913 - what to run, and who is told of it
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        endpoints: Endpoints,
        outbox: "queue.Queue[BatchReport | Waiting | GoldEvent]",
        *,
        until_caught_up: bool,
        heard: Callable[[BatchReport], None],
        keep: Callable[[Sequence[Entry]], None],
    ) -> None:
        """Prepare the thread; nothing starts yet.

        Args:
            settings: where the lake is.
            feeds: what to run.
            endpoints: broker and registry.
            outbox: gets what happens, for the caller's thread.
            until_caught_up: end when all that was there at the start is in silver, and in the
                views that the streams refresh.
            heard: is told of each batch before the next begins; must be quick.
            keep: gets what is to be logged of refreshes; must be quick.
        """
        self._settings = settings
        self._feeds = feeds
        self._endpoints = endpoints
        self._outbox = outbox
        self._until_caught_up = until_caught_up
        self._heard = heard
        self._keep = keep
        self._gold: LiveGold | None = None
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self._streams: dict[str, FeedStreams] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._began_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="streams", daemon=True)

    @property
    def progressed_at(self) -> float:
        """When the feed that got on least last ended a batch, or had nothing to do.

        As `time.monotonic`.
        """
        return min(
            (
                streams.progressed_at
                for streams in self._streams.values()
                if not streams.stopped  # it shall not get on
            ),
            default=self._began_at,
        )

    @property
    def waiting_for(self) -> str | None:
        """What feeds wait for, in words, if some do."""
        reasons = [
            streams.waiting.reason
            for streams in self._streams.values()
            if streams.waiting is not None
        ]
        return "; ".join(dict.fromkeys(reasons)) or None

    @property
    def status(self) -> StreamsStatus:
        """How the streams are, as facts."""
        now = time.monotonic()
        feeds: dict[str, FeedStatus | None] = {feed.feed: None for feed in self._feeds}
        for name, streams in list(self._streams.items()):
            thread, waiting = self._threads.get(name), streams.waiting
            feeds[name] = FeedStatus(
                is_running=thread is None or thread.is_alive(),
                quiet_s=now - streams.progressed_at,
                waiting_for=waiting.reason if waiting else None,
                failure=str(streams.failure) if streams.failure else None,
                is_stopped=bool(streams.stopped),
            )
        refreshing = {view: now - since for view, since in self.refreshing.items()}
        return StreamsStatus(
            is_running=self.is_alive(),
            feeds=feeds,
            refreshing=refreshing,
            ended_views=self._gold.ended() if self._gold else {},
        )

    @property
    def stopped(self) -> Mapping[str, str]:
        """By feed that stands still while others go on, why, in words."""
        return {name: streams.stopped for name, streams in self._streams.items() if streams.stopped}

    @property
    def refreshing(self) -> Mapping[str, float]:
        """By view that is being refreshed now, since when; as `time.monotonic`."""
        return self._gold.refreshing() if self._gold else {}

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether the thread has not ended."""
        return self._thread.is_alive()

    def stop(self) -> None:
        """Ask the threads to end and wait for them; a batch in hand is finished first.

        An interrupt of the wait has said what still runs, and is raised once it has ended; a later
        one ends the process.
        """
        # The caller gives up the lake's lock then, which must not be while they still write.
        wait_through(self._ended, ask=self._ask_to_end, still=self._still_running)
        self._thread.join()

    def _ask_to_end(self) -> None:
        if not self._stop.is_set():  # who is interrupted here asks again
            self._stop.set()
            _LOG.info("stopping after the batch in hand …")
        for streams in list(self._streams.values()):
            streams.end()

    def _still_running(self) -> str:
        now, threads = time.monotonic(), list(self._threads.items())
        feeds = [
            f"feed {name!r} (for {now - self._streams[name].progressed_at:.0f} s in its batch)"
            for name, thread in threads
            if thread.is_alive()
        ]
        views = [f"view {view} ({now - since:.0f} s)" for view, since in self.refreshing.items()]
        return ", ".join([*feeds, *views]) or "Spark"

    def raise_failure(self) -> None:
        """Raise what ended the thread, if it was an error."""
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            self._stream()
        except BaseException as problem:  # noqa: BLE001 - raised again in the caller's thread
            self._failure = problem
        finally:
            self._ended.set()

    def _stream(self) -> None:
        # A core is left to the streams, and slots: their tasks wait for those of no view then.
        view_tasks = max(1, (os.cpu_count() or 2) - 1)
        views = sum(len(feed.gold) for feed in self._feeds)
        session = start_session(
            self._settings,
            ensure_runtime(self._settings),
            further_slots=_SLOTS_OF_A_VIEW * view_tasks * views,
        )
        try:
            with open_lake(self._settings, session) as context:
                pipeline = Pipeline(
                    session=session,
                    endpoints=self._endpoints,
                    context=context,
                    stream=self._settings.stream,
                    state_dir=self._settings.state_dir,
                    report=self._report,
                    feeds=self._feeds,
                    failed=self._note_failure,
                )
                beside = replace(context, refresh_tasks=view_tasks)
                warm = Warm(session=session, context=beside, keep=self._keep)
                self._gold = LiveGold(self._settings, self._feeds, warm, self._outbox.put)
                self._gold.start()
                try:
                    with RequestServer(self._settings, self._feeds, self._gold.ask):
                        self._run_feeds(pipeline)
                    if self._until_caught_up:
                        self._gold.finish(self._stop)
                finally:
                    self._gold.stop()
        finally:
            session.stop()
            if self._gold is not None:
                self._gold.wait()

    def _run_feeds(self, pipeline: Pipeline) -> None:
        self._streams = {
            feed.feed: FeedStreams(
                pipeline=pipeline,
                settings=self._settings,
                feed=feed,
                until_caught_up=self._until_caught_up,
                announce=self._outbox.put,
                stop=self._stop,
                goes_on=partial(self._goes_on, feed.feed),
            )
            for feed in self._feeds
        }
        self._threads = {
            name: threading.Thread(target=streams.run, name=f"feed {name}", daemon=True)
            for name, streams in self._streams.items()
        }
        threads = list(self._threads.values())
        for thread in threads:
            thread.start()
        try:
            self._watch(threads)
        finally:
            if not self._until_caught_up:
                self._stop.set()
            for thread in threads:
                thread.join()
        feeds = self._streams.values()
        has_caught_up = self._until_caught_up and any(streams.failure is None for streams in feeds)
        failures = [
            streams.failure
            for streams in feeds
            # Beside others, a feed whose topic nobody has made yet has nothing to catch up with.
            if streams.failure is not None and not (has_caught_up and streams.is_new)
        ]
        if failures and not self._stop.is_set():
            raise failures[0]

    def _goes_on(self, failed: str) -> bool:
        """Whether a feed beside the one that failed is well."""
        others = [streams for name, streams in self._streams.items() if name != failed]
        return any(streams.failure is None for streams in others)

    def _watch(self, threads: Sequence[threading.Thread]) -> None:
        """Look at the feeds until all have ended, or none of them is well, or it is told to stop.

        Raises:
            LakeAssetsError: no feed gets on, so whoever started the streams shall know.
        """
        while any(thread.is_alive() for thread in threads) and not self._stop.wait(_LOOK_EVERY_S):
            failures = [streams.failure for streams in self._streams.values()]
            problem = next((failure for failure in failures if failure is not None), None)
            if problem is not None and all(failures) and not self._until_caught_up:
                raise problem

    def _report(self, report: BatchReport) -> None:
        if report.feed in self._streams:
            stream = self._streams[report.feed]
            stream.progressed_at = time.monotonic()
            if report.stage is Stage.INGEST:
                stream.wake()
        self._heard(report)
        self._outbox.put(report)
        if self._gold is not None:
            self._gold.note(report)

    def _note_failure(self, feed: str, problem: Exception) -> None:
        self._streams[feed].query_failure = problem
