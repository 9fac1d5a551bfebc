"""How each feed's stream is, as the lake's state tells it to whoever asks: no process is asked.

How far it is behind its source is `streams.source_standing`'s.
"""

from dataclasses import dataclass
from enum import StrEnum

from lake_assets.model.feeds import Feed
from lake_assets.runtime.processes import boot_id, is_alive
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked, read_heartbeat
from lake_assets.state.stream_stops import stop_of


class StreamState(StrEnum):
    """What a feed's stream does."""

    RUNNING = "running"
    WAITING = "waiting"  # for a broker, a registry, a disk; it goes on by itself
    BLOCKED = "blocked"  # at a batch that failed again and again, until somebody acts
    STOPPED = "stopped"  # by somebody, deliberately
    STOPPING = "stopping"  # likewise, and it is still at its last batch
    NOT_RUNNING = "not running"  # no process streams here, and nobody stopped it
    SCHEDULED = "scheduled"  # it has runs of its own in place of a stream


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamStanding:
    """How one feed's stream is."""

    feed: str
    state: StreamState
    detail: str = ""
    """In words: who stopped it, what it waits for, at what it is blocked."""


def standing_of(settings: Settings, feed: Feed) -> StreamStanding:
    """How a feed's stream is."""
    name = feed.feed
    if feed.is_triggered:
        return StreamStanding(feed=name, state=StreamState.SCHEDULED, detail=str(feed.run))
    stop = stop_of(settings.state_dir, name)
    # The lock first: a heartbeat read before it could be that of the holder's predecessor.
    is_run = is_locked(settings.state_dir)
    beat = read_heartbeat(settings.state_dir) if is_run else None
    if beat is not None and beat.process.boot == boot_id() and not is_alive(beat.process):
        beat = None  # the predecessor's
    if stop is not None:
        is_at_work = is_run and (beat is None or name not in beat.stopped_by)
        state = StreamState.STOPPING if is_at_work else StreamState.STOPPED
        return StreamStanding(feed=name, state=state, detail=str(stop))
    if not is_run:
        return StreamStanding(feed=name, state=StreamState.NOT_RUNNING)
    if beat is not None and name in beat.stopped:
        return StreamStanding(feed=name, state=StreamState.BLOCKED, detail=beat.stopped[name])
    if beat is not None and beat.waiting_for is not None:
        return StreamStanding(feed=name, state=StreamState.WAITING, detail=beat.waiting_for)
    return StreamStanding(feed=name, state=StreamState.RUNNING)
