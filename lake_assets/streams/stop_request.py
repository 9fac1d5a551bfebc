"""Stopping a feed's stream deliberately, and starting it again; what both come to, in words.

The stop is noted in the lake's state; the process of the streams, which may be another one or begin
later, obeys it (`streams.feed_waits`), and nobody who supervises it undoes it.
"""

import time
from collections.abc import Collection, Sequence
from enum import StrEnum
from pathlib import Path

from lake_assets.errors import FeedError
from lake_assets.feeds.load import find_feed
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked, read_heartbeat
from lake_assets.state.keep import keep_now, take_now
from lake_assets.state.lake_id import ensure_bound
from lake_assets.state.stream_stops import (
    StreamStop,
    StreamStoppedError,
    forget_stop,
    note_stop,
    stop_of,
    stops_of,
)

ENDS_WITHIN_S = 120.0
"""Seconds that a batch in hand has to end before whoever stops a stream no longer waits for it."""

_LOOK_EVERY_S = 0.5


class Ended(StrEnum):
    """What is known of a stream that was stopped a moment ago."""

    STANDS_STILL = "it stands still; what it had read is in silver"
    NOTHING_RAN = "no streams run here; those that begin leave it alone"
    NOT_YET = "it is still at its batch, and stops after that"


def feeds_meant(feeds: Sequence[Feed], name: str) -> tuple[Feed, ...]:
    """The feeds that a name means whose streams are to be stopped or started; all if it is blank.

    Raises:
        FeedError: it is not declared; or the streams run none.
    """
    if name:
        return (find_feed(feeds, name),)
    every = supervised(feeds)
    if not every:
        names = ", ".join(feed.feed for feed in feeds)
        fact = f"all have a schedule of their own (`run`): {names}"
        raise FeedError("feeds", fact, "Turn a feed's schedule off in Dagster to have it rest")
    return every


def stop_streams(
    settings: Settings, feeds: Sequence[Feed], *, by: str, reason: str = ""
) -> dict[str, StreamStop]:
    """Have some feeds' streams stop after the batch in hand, and stay so; their stops.

    Raises:
        FeedError: one has a schedule of its own.
        LakeError: the state is another lake's, or cannot be written.
    """
    for feed in feeds:
        if feed.is_triggered:
            fact = "has a schedule of its own (`run`), so no stream of it runs without pause"
            step = f"Turn off the schedule of its job `run_feed_{feed.feed}` in Dagster"
            raise FeedError(f"feed {feed.feed!r}", fact, step)
    ensure_bound(settings)
    take_now(settings)
    stop = StreamStop(by=by, at=time.time(), reason=reason)
    stops = {feed.feed: note_stop(settings.state_dir, feed.feed, stop) for feed in feeds}
    keep_now(settings)
    return stops


def start_streams(settings: Settings, feeds: Sequence[Feed]) -> dict[str, StreamStop]:
    """Let some feeds' streams run again; the stops that there were. Raises as `stop_streams`."""
    ensure_bound(settings)
    take_now(settings)
    stops = stops_of(settings.state_dir, [feed.feed for feed in feeds])
    for name in stops:
        forget_stop(settings.state_dir, name)
    keep_now(settings)
    return stops


def await_stopped(
    settings: Settings,
    feed: str,
    *,
    within_s: float = ENDS_WITHIN_S,
    since: float | None = None,
) -> Ended:
    """Wait until a feed's stream that was stopped stands still.

    Args:
        settings: where the lake is.
        feed: whose stream.
        within_s: waits no longer.
        since: when it was stopped, a `time.monotonic()`; now if None. A heartbeat of before may
            tell of an earlier stop, since which the stream was started again.
    """
    began = time.monotonic()
    until, since = began + within_s, began if since is None else since
    first = read_heartbeat(settings.state_dir)
    while True:
        # Before the look at the heartbeat: whoever takes the lock later heeds the stop.
        is_run = is_locked(settings.state_dir)
        beat = read_heartbeat(settings.state_dir)
        if not is_run:
            return Ended.NOTHING_RAN
        if beat is not None and feed in beat.stopped_by and _is_of_now(beat, first, since):
            return Ended.STANDS_STILL
        if time.monotonic() > until or stop_of(settings.state_dir, feed) is None:
            return Ended.NOT_YET
        time.sleep(_LOOK_EVERY_S)


def _is_of_now(beat: Heartbeat, first: Heartbeat | None, since: float) -> bool:
    # The clock of another machine or container means nothing here.
    return beat.at >= since if beat.process.boot == boot_id() else beat != first


def ensure_not_all_stopped(state_dir: Path, names: Collection[str]) -> None:
    """Make sure that some feed is left to stream.

    Raises:
        StreamStoppedError: somebody stopped all of them; without any, nothing is raised.
    """
    stops = stops_of(state_dir, sorted(names))
    if stops and len(stops) == len(names):
        raise StreamStoppedError(stops)
