"""The streams of feeds that run in this process: who they are, how they are, who hears of them.

Any thread may ask; who starts them is `streams.stream_thread` and `streams.triggered_runs`.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lake_assets.metrics.health import FeedStatus
from lake_assets.model.feeds import Feed, supervised
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.told_events import FeedEvent

Tell: TypeAlias = Callable[[FeedEvent], None]
"""Gets what is done with a feed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToRun:
    """Which feeds a process runs, by name; other processes may ask it for runs of others."""

    followed: frozenset[str]
    """Those that it runs without pause, or until all have caught up."""

    run: str | None = None
    """One that it runs once and then ends, as far as nobody else has asked for another."""

    @classmethod
    def of(cls, feeds: Iterable[Feed]) -> "ToRun":
        """As the feeds are declared: those without a schedule."""
        return cls(followed=frozenset(feed.feed for feed in supervised(feeds)))

    @classmethod
    def only(cls, names: Collection[str]) -> "ToRun":
        """Some, however they are declared."""
        return cls(followed=frozenset(names))


class RunningStreams:
    """Some feeds' streams."""

    def __init__(self, put: Tell) -> None:
        """None run yet; what is done with a feed is `put`, unless somebody else wants it."""
        self._put = put
        self._streams: dict[str, FeedStreams] = {}
        self._threads: dict[str, threading.Thread] = {}
        self._listeners: dict[str, Tell] = {}

    def add(
        self,
        streams: FeedStreams,
        *,
        thread: threading.Thread | None = None,
        tell: Tell | None = None,
    ) -> None:
        """Know a feed's streams from now on, their thread, and who hears of them."""
        name = streams.feed.feed
        if tell is not None:
            self._listeners[name] = tell
        if thread is not None:
            self._threads[name] = thread
        self._streams[name] = streams

    def remove(self, streams: FeedStreams) -> None:
        """Forget streams that have ended."""
        name = streams.feed.feed
        for known in (self._streams, self._listeners, self._threads):
            known.pop(name, None)

    def announce(self, event: FeedEvent) -> None:
        """Tell what is done with a feed."""
        self._listeners.get(event.feed, self._put)(event)

    def of(self, feed: str) -> FeedStreams | None:
        """A feed's streams, if they run here."""
        return self._streams.get(feed)

    def every(self) -> Sequence[FeedStreams]:
        """All of them."""
        return list(self._streams.values())

    def note_failure(self, feed: str, problem: Exception) -> None:
        """Know what ended a feed's query."""
        streams = self.of(feed)
        if streams is not None:
            streams.query_failure = problem

    def are_well_beside(self, failed: str) -> bool:
        """Whether a feed beside the one that failed is well."""
        others = (streams for streams in self.every() if streams.feed.feed != failed)
        return any(one.failure is None and one.stopped_by is None for one in others)

    def progressed_at(self) -> float | None:
        """When the feed that got on least last ended a batch, or had nothing to do.

        As `time.monotonic`; None if none runs that should get on.
        """
        every = (one for one in self.every() if not one.stopped and one.stopped_by is None)
        times = (one.progressed_at for one in every)
        return min(times, default=None)

    def waiting_for(self) -> str | None:
        """What feeds wait for, in words, if some do."""
        waiting = (streams.waiting for streams in self.every())
        return "; ".join(dict.fromkeys(one.reason for one in waiting if one)) or None

    def stopped(self) -> Mapping[str, str]:
        """By feed that stands still while others go on, why, in words."""
        return {streams.feed.feed: streams.stopped for streams in self.every() if streams.stopped}

    def stopped_by(self) -> Mapping[str, str]:
        """By feed that stands still since somebody stopped its stream, who, in words."""
        return {one.feed.feed: str(one.stopped_by) for one in self.every() if one.stopped_by}

    def statuses(self) -> Mapping[str, FeedStatus]:
        """By feed, how it is."""
        now, found = time.monotonic(), {}
        for streams in self.every():
            thread, waiting = self._threads.get(streams.feed.feed), streams.waiting
            found[streams.feed.feed] = FeedStatus(
                is_running=thread is None or thread.is_alive(),
                quiet_s=now - streams.progressed_at,
                waiting_for=waiting.reason if waiting else None,
                failure=str(streams.failure) if streams.failure else None,
                is_stopped=bool(streams.stopped),
                stopped_by=str(streams.stopped_by) if streams.stopped_by else None,
            )
        return found

    def still_running(self) -> list[str]:
        """Those whose threads have not ended, in words."""
        now, threads = time.monotonic(), dict(self._threads)
        return [
            f"feed {streams.feed.feed!r} (for {now - streams.progressed_at:.0f} s in its batch)"
            for streams in self.every()
            if (thread := threads.get(streams.feed.feed)) is None or thread.is_alive()
        ]
