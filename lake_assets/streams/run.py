"""Running the streams: a worker thread owns Spark, the caller's thread stays free to be stopped.

A thread that blocks in a py4j call cannot be interrupted without leaving the JVM behind, so no
py4j call happens outside the worker. The caller reads events from a queue, in a generator.
"""

import queue
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from lake_assets.errors import FeedError
from lake_assets.lineage.stream_runs import told_of_streams
from lake_assets.metrics.health import StreamsStatus
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.files import streams_lock
from lake_assets.state.heartbeat import HeartbeatThread, Progress
from lake_assets.state.lake_id import ensure_bound
from lake_assets.state.run_notes import forget_runs
from lake_assets.streams.expectation_results import FailureBook, tee
from lake_assets.streams.group_commits import keep_group_commits
from lake_assets.streams.log_thread import LogThread, keep_log_thread
from lake_assets.streams.running_streams import ToRun
from lake_assets.streams.stop_request import ensure_not_all_stopped
from lake_assets.streams.stream_thread import Worker
from lake_assets.streams.told_events import FeedEvent
from lake_assets.streams.watch import Watch


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing new; the caller may look around."""


_TICK_S = 1.0
"""Seconds without an event after which the caller may look around."""

StreamEvent: TypeAlias = FeedEvent | Tick


def stream_events(
    settings: Settings,
    feeds: Sequence[Feed],
    endpoints: Endpoints,
    *,
    owner: str,
    until_caught_up: bool = False,
    what: ToRun | None = None,
) -> Generator[StreamEvent, None, None]:
    """Run feeds' streams and yield what they do, at least once a second.

    Closing the generator stops the streams: the batch in hand is finished first, then Spark ends.
    While it runs it holds the lake's lock and writes its heartbeat.

    Args:
        settings: where the lake is.
        feeds: all that there are.
        endpoints: broker and registry.
        owner: who runs them, for the heartbeat.
        until_caught_up: end when all that was there at the start is in silver.
        what: which feeds to run; by default those without a schedule.

    Raises:
        FeedError: none is to be run.
        StreamStoppedError: somebody stopped all of them.
        StreamsLockedError: another process runs this lake's streams.
        StreamError: a query ended with an error that will not pass by itself.
        LakeAssetsError: Spark, the lake or a feed cannot be used.
    """
    ensure_bound(settings)
    what = what or ToRun.of(feeds)
    if not what.followed and what.run is None:
        raise _nothing_to_run(feeds)
    ensure_not_all_stopped(settings.state_dir, what.followed if what.run is None else ())
    with (
        told_of_streams(settings, feeds, endpoints) as lineage,
        streams_lock(settings.state_dir),
    ):
        for name in what.followed:
            forget_runs(settings.state_dir, name)  # else it seems late once it has one again
        outbox: queue.Queue[FeedEvent] = queue.Queue()
        watch = Watch(settings, feeds, endpoints)
        with (
            keep_log_thread(settings, feeds, endpoints, watch) as log_thread,
            keep_group_commits(settings, feeds, endpoints) as commit_group,
        ):
            worker = Worker(
                settings,
                feeds,
                endpoints,
                outbox,
                until_caught_up=until_caught_up,
                heard=tee(
                    log_thread.add,
                    FailureBook(settings, feeds).note,
                    watch.batch,
                    lineage.batch,
                    commit_group,
                ),
                keep=tee(log_thread.keep, watch.refreshes),
                what=what,
            )
            every_s = settings.stream.heartbeat_every_s
            with (
                watch.serving() as metrics,
                HeartbeatThread(
                    settings.state_dir, owner, lambda: _progress(worker, metrics), every_s=every_s
                ) as heartbeat,
            ):
                worker.start()
                watch.status = lambda: _status(worker, heartbeat, log_thread)
                try:
                    for event in _events(worker, outbox):
                        yield watch.event(event)
                finally:
                    worker.stop()
        worker.raise_failure()


def _nothing_to_run(feeds: Sequence[Feed]) -> FeedError:
    return FeedError(
        "feeds",
        f"all have a schedule of their own (`run`): {', '.join(feed.feed for feed in feeds)}",
        "Dagster runs them; `lake-assets stream --feed NAME --until-caught-up` does it now",
    )


def _progress(worker: Worker, metrics: str | None) -> Progress:
    return Progress(
        progressed_at=worker.progressed_at,
        waiting_for=worker.streams.waiting_for(),
        refreshing=worker.refreshing,
        metrics=metrics,
        stopped=worker.streams.stopped(),
        stopped_by=worker.streams.stopped_by(),
    )


def _status(worker: Worker, heartbeat: HeartbeatThread, log_thread: LogThread) -> StreamsStatus:
    trouble = {} if heartbeat.failure is None else {"heartbeat": str(heartbeat.failure)}
    if not log_thread.is_alive():
        trouble["logs"] = "their thread has ended; batches wait in the state folder"
    return replace(worker.status, trouble=trouble)


def _events(worker: Worker, outbox: "queue.Queue[FeedEvent]") -> Generator[StreamEvent, None, None]:
    while worker.is_alive() or not outbox.empty():
        try:
            yield outbox.get(timeout=_TICK_S)
        except queue.Empty:
            yield Tick()
