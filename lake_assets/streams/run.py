"""Running the streams: a worker thread owns Spark, the caller's thread stays free to be stopped.

A thread that blocks in a py4j call cannot be interrupted without leaving the JVM behind, so no
py4j call happens outside the worker. The caller reads events from a queue, in a generator.
"""

import logging
import queue
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lake_assets.lake.state import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.streams.logbook import keep_logbook
from lake_assets.streams.quality import FailureBook, tee
from lake_assets.streams.worker import Worker


@dataclass(frozen=True, slots=True)
class Tick:
    """Nothing new; the caller may look around."""


_LOG = logging.getLogger(__name__)

StreamEvent: TypeAlias = BatchReport | Waiting | Tick


def stream_events(
    settings: Settings,
    feeds: Sequence[Feed],
    endpoints: Endpoints,
    *,
    owner: str,
    until_caught_up: bool = False,
) -> Generator[StreamEvent, None, None]:
    """Run all feeds' streams and yield what they do, at least once a heartbeat.

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
    with streams_lock(settings.state_dir):
        outbox: queue.Queue[BatchReport | Waiting] = queue.Queue()
        with keep_logbook(settings, feeds, endpoints) as logbook:
            worker = Worker(
                settings,
                feeds,
                endpoints,
                outbox,
                until_caught_up=until_caught_up,
                heard=tee(logbook.add, FailureBook(settings, feeds).note),
            )
            worker.start()
            try:
                yield from _events(settings, worker, outbox, owner)
            finally:
                worker.stop()
        worker.raise_failure()


def _beat(settings: Settings, worker: Worker, owner: str) -> None:
    """Write the heartbeat; a disk that takes none stops no stream: they wait for the same disk."""
    beat = own_heartbeat(owner, progressed_at=worker.progressed_at, waiting_for=worker.waiting_for)
    try:
        write_heartbeat(settings.state_dir, beat)
    except OSError as problem:
        _LOG.warning("the heartbeat could not be written: %s", problem.strerror)


def _events(
    settings: Settings,
    worker: Worker,
    outbox: "queue.Queue[BatchReport | Waiting]",
    owner: str,
) -> Generator[StreamEvent, None, None]:
    pause_s = settings.stream.heartbeat_every_s
    beaten_at = 0.0
    while worker.is_alive() or not outbox.empty():
        if time.monotonic() - beaten_at >= pause_s:
            _beat(settings, worker, owner)
            beaten_at = time.monotonic()
        try:
            yield outbox.get(timeout=min(pause_s, 1.0))
        except queue.Empty:
            yield Tick()
