"""The thread that owns Spark while the streams run: a thread a feed is started, watched, ended."""

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from lake_assets.gold.run import Warm
from lake_assets.logs.entries import Entry
from lake_assets.metrics.health import StreamsStatus
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.runtime.setup import ensure_runtime
from lake_assets.runtime.wait_through import wait_through
from lake_assets.settings.schema import Settings
from lake_assets.spark.cluster import cores_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.session import start_session
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.live_gold import LiveGold
from lake_assets.streams.live_sinks import LiveSinks
from lake_assets.streams.pipeline import Pipeline
from lake_assets.streams.refresh_requests import RequestServer
from lake_assets.streams.running_streams import RunningStreams, ToRun
from lake_assets.streams.told_events import FeedEvent
from lake_assets.streams.triggered_runs import Around, TriggeredRuns
from lake_assets.streams.triggers import view_tasks_of

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
        outbox: "queue.Queue[FeedEvent]",
        *,
        until_caught_up: bool,
        heard: Callable[[BatchReport], None],
        keep: Callable[[Sequence[Entry]], None],
        what: ToRun | None = None,
    ) -> None:
        """Prepare the thread; nothing starts yet.

        Args:
            settings: where the lake is.
            feeds: all that there are.
            endpoints: broker and registry.
            outbox: gets what happens, for the caller's thread.
            until_caught_up: end when all that was there at the start is in silver, and in the
                views that the streams refresh.
            heard: is told of each batch before the next begins; must be quick.
            keep: gets what is to be logged of refreshes; must be quick.
            what: which of the feeds are run; by default those without a schedule.
        """
        self._settings = settings
        self._feeds = feeds
        self._what = what or ToRun.of(feeds)
        self._followed = [feed for feed in feeds if feed.feed in self._what.followed]
        self._endpoints = endpoints
        self._outbox = outbox
        self._until_caught_up = until_caught_up
        self._heard = heard
        self._keep = keep
        self._gold: LiveGold | None = None
        self._sinks: LiveSinks | None = None
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._failure: BaseException | None = None
        self.streams = RunningStreams(outbox.put)
        """Those that run, of any feed."""
        self._began_at = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="streams", daemon=True)

    @property
    def progressed_at(self) -> float:
        """When the feed that got on least last ended a batch, or had nothing to do.

        As `time.monotonic`.
        """
        found = self.streams.progressed_at()
        if found is None:
            # Nothing is to be done, or views are left, which have a limit of their own.
            return self._began_at if self._gold is None else time.monotonic()
        return found

    @property
    def status(self) -> StreamsStatus:
        """How the streams are, as facts."""
        now = time.monotonic()
        unbegun = dict.fromkeys(feed.feed for feed in self._followed)
        refreshing = {view: now - since for view, since in self.refreshing.items()}
        return StreamsStatus(
            is_running=self.is_alive(),
            feeds={**unbegun, **self.streams.statuses()},
            refreshing=refreshing,
            ended_views=self._gold.ended() if self._gold else {},
        )

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
        for streams in self.streams.every():
            streams.end()

    def _still_running(self) -> str:
        now, feeds = time.monotonic(), self.streams.still_running()
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
        view_tasks = view_tasks_of(cores_of(self._settings))
        views = sum(len(feed.gold) for feed in self._feeds)
        session = start_session(
            self._settings,
            ensure_runtime(self._settings),
            further_slots=_SLOTS_OF_A_VIEW * (view_tasks or 0) * views,
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
                    failed=self.streams.note_failure,
                )
                beside = replace(context, refresh_tasks=view_tasks)
                warm = Warm(session=session, context=beside, keep=self._keep)
                places = (self._settings, self._feeds, self._endpoints)
                self._sinks = LiveSinks(*places, warm, self._outbox.put, self._what.followed)
                self._gold = LiveGold(
                    *places[:2], warm, self._sinks.with_views(self._outbox.put), self._what.followed
                )
                self._gold.start()
                self._sinks.start()
                try:
                    with (
                        RequestServer(self._settings, self._feeds, self._gold.ask),
                        self._runs(pipeline, self._gold, self._sinks) as runs,
                    ):
                        self._run_feeds(pipeline)
                        runs.finish(self._stop)
                    if self._until_caught_up:
                        self._gold.finish(self._stop)
                        self._sinks.finish(self._stop)
                finally:
                    self._sinks.stop()
                    self._gold.stop()
                    self._sinks.wait()  # calls end, and are recorded, while the lake is open
        finally:
            session.stop()
            if self._gold is not None:
                self._gold.wait()

    def _runs(self, pipeline: Pipeline, gold: LiveGold, sinks: LiveSinks) -> TriggeredRuns:
        around = Around(
            streams_of=partial(self._run_of, pipeline),
            refresh=gold.refresh_paced,
            deliver=sinks.deliver,
            running=self.streams,
        )
        runs = TriggeredRuns(self._settings, self._feeds, self._what.followed, around)
        if self._what.run is not None:
            runs.add_own(self._what.run, self._outbox.put)
        return runs

    def _run_of(self, pipeline: Pipeline, feed: Feed, stop: threading.Event) -> FeedStreams:
        return self._streams_of(pipeline, feed, stop, until_caught_up=True)

    def _streams_of(
        self, pipeline: Pipeline, feed: Feed, stop: threading.Event, *, until_caught_up: bool
    ) -> FeedStreams:
        is_followed = feed.feed in self._what.followed
        return FeedStreams(
            pipeline=pipeline,
            settings=self._settings,
            feed=feed,
            until_caught_up=until_caught_up,
            announce=self.streams.announce,
            stop=stop,
            # Whoever asked for a run is told of its failure at once.
            goes_on=lambda: is_followed and self.streams.are_well_beside(feed.feed),
        )

    def _run_feeds(self, pipeline: Pipeline) -> None:
        followed = [
            self._streams_of(pipeline, feed, self._stop, until_caught_up=self._until_caught_up)
            for feed in self._followed
        ]
        threads = [
            threading.Thread(target=streams.run, name=f"feed {streams.feed.feed}", daemon=True)
            for streams in followed
        ]
        for streams, thread in zip(followed, threads, strict=True):
            self.streams.add(streams, thread=thread)
        for thread in threads:
            thread.start()
        try:
            self._watch(threads, followed)
        finally:
            if followed and not self._until_caught_up:
                self._stop.set()
            for thread in threads:
                thread.join()
        has_caught_up = self._until_caught_up and any(one.failure is None for one in followed)
        failures = [
            one.failure
            for one in followed
            # Beside others, a feed whose topic nobody has made yet has nothing to catch up with.
            if one.failure and not one.stopped_by and not (has_caught_up and one.is_new)
        ]
        if failures and not self._stop.is_set():
            raise failures[0]

    def _watch(self, threads: Sequence[threading.Thread], followed: Sequence[FeedStreams]) -> None:
        """Look at the feeds until all have ended, or none of them is well, or it is told to stop.

        Raises:
            LakeAssetsError: no feed gets on, so whoever started the streams shall know.
        """
        while any(thread.is_alive() for thread in threads) and not self._stop.wait(_LOOK_EVERY_S):
            self._raise_if_all_failed(self.streams.every())
        if not self._stop.is_set():  # they have ended since, a run beside them perhaps not
            self._raise_if_all_failed(followed)

    def _raise_if_all_failed(self, every: Sequence[FeedStreams]) -> None:
        failures = [one.failure for one in every if one.stopped_by is None]
        if not self._until_caught_up and failures and failures[0] is not None and all(failures):
            raise failures[0]

    def _report(self, report: BatchReport) -> None:
        stream = self.streams.of(report.feed)
        if stream is not None:
            stream.progressed_at = time.monotonic()
            if report.stage is Stage.INGEST:
                stream.wake()
        self._heard(report)
        self.streams.announce(report)
        if self._gold is not None:
            self._gold.note(report)
        if self._sinks is not None:
            self._sinks.note(report)
