"""All sinks of the streams' feeds, in the streams' process: a thread a sink.

Nobody waits for one: a slow or dead API keeps its own rows back and no others. Whoever wants all
rows delivered waits here.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence

from lake_assets.errors import StreamError, first_line
from lake_assets.gold.run import Warm
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.reports import BatchReport, GoldEvent, GoldRefreshed, SinkEvent, Stage
from lake_assets.settings.schema import Settings
from lake_assets.streams.live_sink import LiveSink

_LOG = logging.getLogger(__name__)

_QUIET_S = 60.0
"""Seconds without a call that ended after which a run waits no longer for a sink: until then it
holds up the next run of its feed, which other sinks wait for."""

_LEFT_WITHIN_S = 30.0
"""Seconds that threads have to end: calls in flight, and a commit."""


class LiveSinks:
    """The sinks of some feeds."""

    def __init__(
        self,
        settings: Settings,
        feeds: Sequence[Feed],
        endpoints: Endpoints,
        warm: Warm,
        announce: Callable[[SinkEvent], None],
        followed: Collection[str],
    ) -> None:
        """Prepare a thread a sink; none starts yet.

        Args:
            settings: where the lake is.
            feeds: all that there are.
            endpoints: of the lake.
            warm: the streams' session.
            announce: is told what became of a sink, in its thread.
            followed: names of the feeds whose sinks `finish` waits for; beside theirs, those of
                feeds on a schedule are delivered to as long as the process lives.
        """
        self._owners = {feed.feed: tables_owner(feed) for feed in feeds}
        # Runs of feeds on a schedule are this process's, too, if somebody asks for them.
        ours = [feed for feed in feeds if feed.feed in followed or feed.is_triggered]
        self._followed = frozenset(followed)
        self._sinks = [
            (tables_owner(feed), LiveSink(settings, feed, sink, endpoints, warm, announce))
            for feed in ours
            for sink in feed.sinks
        ]

    def start(self) -> None:
        """Start the threads."""
        for _, sink in self._sinks:
            sink.start()

    def note(self, report: BatchReport) -> None:
        """Take in a batch: what it committed, sinks may lack."""
        owner = self._owners.get(report.feed, report.feed)
        if report.is_committed:
            for whose, sink in self._sinks:
                is_its = (report.stage is Stage.INGEST) is sink.is_of_bronze
                if whose == owner and is_its:
                    sink.nudge()

    def with_views(self, announce: Callable[[GoldEvent], None]) -> Callable[[GoldEvent], None]:
        """The same, that also takes in what became of a view: sinks of it may lack its commits."""

        def told(event: GoldEvent) -> None:
            announce(event)
            for _, sink in self._sinks:
                if isinstance(event, GoldRefreshed) and sink.of_view == event.feed:
                    sink.nudge()

        return told

    def deliver(self, feed: str, stop: threading.Event) -> None:
        """Deliver what a feed has now; or return when `stop` is set.

        Raises:
            StreamError: a sink cannot deliver, or no call of it has ended for a minute.
        """
        began = time.monotonic()
        asked = {sink: sink.ask() for _, sink in self._sinks if sink.feed == feed}
        left, troubles = dict(asked), dict[str, str]()
        while left and not stop.wait(0.1):
            for sink, answer in list(left.items()):
                quiet_s = time.monotonic() - max(began, sink.progressed_at)
                if answer.done():
                    problem = answer.exception()
                    trouble = "" if problem is None else first_line(problem) or repr(problem)
                elif quiet_s > _QUIET_S:
                    trouble = sink.trouble or f"no call of it ended for {quiet_s:.0f} s"
                else:
                    continue
                del left[sink]
                if trouble:
                    troubles[sink.name] = trouble
        _raise_for(troubles)

    def finish(self, stop: threading.Event) -> None:
        """Deliver what is there of followed feeds, and end; or return when `stop` is set.

        Raises:
            StreamError: rows cannot be delivered.
        """
        awaited = [sink for _, sink in self._sinks if sink.feed in self._followed]
        for sink in awaited:
            sink.finish()
        while any(sink.is_alive() for sink in awaited):
            if stop.wait(0.1):
                return
        _raise_for({sink.name: sink.trouble for sink in awaited if sink.trouble})

    def stop(self) -> None:
        """Have all threads end soon."""
        for _, sink in self._sinks:
            sink.stop()

    def wait(self) -> None:
        """Wait for the threads; as `LiveGold.wait`."""
        until = time.monotonic() + _LEFT_WITHIN_S
        while left := [sink.name for _, sink in self._sinks if sink.is_alive()]:
            if time.monotonic() > until:
                _LOG.warning("%s have not ended; the process ends beside them", ", ".join(left))
                return
            time.sleep(0.1)


def _raise_for(troubles: Mapping[str, str]) -> None:
    if troubles:
        facts = "; ".join(f"{name} stands still ({why})" for name, why in troubles.items())
        raise StreamError("sinks", facts, "All rows are in the lake; repair the sinks")
