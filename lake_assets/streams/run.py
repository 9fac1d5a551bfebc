"""Running the streams: a worker thread owns Spark, the caller's thread stays free to be stopped.

A thread that blocks in a py4j call cannot be interrupted without leaving the JVM behind, so no
py4j call happens outside the worker. The caller reads events from a queue, in a generator.
"""

import queue
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, GoldEvent, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.state.files import streams_lock
from lake_assets.state.heartbeat import HeartbeatThread, Progress
from lake_assets.state.lake_id import ensure_bound
from lake_assets.streams.expectation_results import FailureBook, tee
from lake_assets.streams.log_thread import keep_log_thread
from lake_assets.streams.stream_thread import Worker


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing new; the caller may look around."""


_TICK_S = 1.0
"""Seconds without an event after which the caller may look around."""

StreamEvent: TypeAlias = BatchReport | Waiting | GoldEvent | Tick


def stream_events(
    settings: Settings,
    feeds: Sequence[Feed],
    endpoints: Endpoints,
    *,
    owner: str,
    until_caught_up: bool = False,
) -> Generator[StreamEvent, None, None]:
    """Run all feeds' streams and yield what they do, at least once a second.

    Closing the generator stops the streams: the batch in hand is finished first, then Spark ends.
    While it runs it holds the lake's lock and writes its heartbeat.

    Args:
        settings: where the lake is.
        feeds: what to run.
        endpoints: broker and registry.
        owner: who runs them, for the heartbeat.
        until_caught_up: end when all that was there at the start is in silver.

    Raises:
        StreamsLockedError: another process runs this lake's streams.
        StreamError: a query ended with an error that will not pass by itself.
        LakeAssetsError: Spark, the lake or a feed cannot be used.
    """
    ensure_bound(settings)
    with streams_lock(settings.state_dir):
        outbox: queue.Queue[BatchReport | Waiting | GoldEvent] = queue.Queue()
        with keep_log_thread(settings, feeds, endpoints) as log_thread:
            worker = Worker(
                settings,
                feeds,
                endpoints,
                outbox,
                until_caught_up=until_caught_up,
                heard=tee(log_thread.add, FailureBook(settings, feeds).note),
                keep=log_thread.keep,
            )
            every_s = settings.stream.heartbeat_every_s
            with HeartbeatThread(
                settings.state_dir, owner, lambda: _progress(worker), every_s=every_s
            ):
                worker.start()
                try:
                    yield from _events(worker, outbox)
                finally:
                    worker.stop()
        worker.raise_failure()


def _progress(worker: Worker) -> Progress:
    return Progress(
        progressed_at=worker.progressed_at,
        waiting_for=worker.waiting_for,
        refreshing=worker.refreshing,
    )


def _events(
    worker: Worker, outbox: "queue.Queue[BatchReport | Waiting | GoldEvent]"
) -> Generator[StreamEvent, None, None]:
    while worker.is_alive() or not outbox.empty():
        try:
            yield outbox.get(timeout=_TICK_S)
        except queue.Empty:
            yield Tick()
