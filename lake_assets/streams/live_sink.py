"""One sink in the streams' process: its thread, which delivers and is asked to.

It follows its tables by their logs, and reads on when its calls are made. What goes wrong with it
is its own.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace

from lake_assets.errors import LakeAssetsError, first_line
from lake_assets.gold.run import Warm
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import DeliveryReport, SinkEvent, SinkFailed
from lake_assets.model.sinks import Sink
from lake_assets.runtime.log_lines import about
from lake_assets.settings.schema import Settings
from lake_assets.sinks.run import SinkRun, redelivery_turn, sink_turn
from lake_assets.spark.job_groups import cancel_group, enter_group
from lake_assets.state.files import turn_if_free
from lake_assets.streams.sinks_outside import outside_of
from lake_assets.streams.triggers import retry_delay_s

_LOG = logging.getLogger(__name__)

_LOOK_ANYWAY_S = 5.0
"""Seconds after which tables are looked at though nothing was committed here: others may have
written to them (requeue, rebuild). A look asks each table for one file."""

_TURN_EVERY_S = 1.0
"""Seconds between two tries while somebody else delivers."""


class LiveSink:
    """Delivers to one sink until it is told to stop."""

    def __init__(
        self,
        settings: Settings,
        feed: Feed,
        sink: Sink,
        endpoints: Endpoints,
        warm: Warm,
        announce: Callable[[SinkEvent], None],
    ) -> None:
        """Prepare the thread; as `LiveSinks`."""
        self.feed = feed.feed
        self.name = f"{feed.feed}.{sink.name}"
        self.is_of_bronze = sink.is_of_bronze
        self.of_view = feed.feed if sink.view else None
        """The feed whose view it follows, if it does."""
        self.trouble = ""
        """Why nothing is delivered now, in words, if that is so."""
        self._settings, self._feed, self._sink = settings, feed, sink
        self._endpoints, self._warm, self._announce = endpoints, warm, announce
        self.progressed_at = time.monotonic()
        """When a call last ended; as `time.monotonic`."""
        self._stop, self._woken = threading.Event(), threading.Event()
        self._is_last = False
        self._asked: queue.SimpleQueue[Future[None]] = queue.SimpleQueue()
        self._answering: list[Future[None]] = []
        self._thread = threading.Thread(target=self._run, name=f"sink {self.name}", daemon=True)

    def start(self) -> None:
        """Start the thread; it looks at once for what came while nobody did."""
        self._thread.start()

    def nudge(self) -> None:
        """Tell that its tables may have something new."""
        self._woken.set()

    def ask(self) -> "Future[None]":
        """Have what is there now delivered; done once it is, or has failed by what kept it back."""
        answer: Future[None] = Future()
        self._asked.put(answer)
        self._woken.set()
        return answer

    def finish(self) -> None:
        """Have what is there delivered, and the thread end."""
        self._is_last = True
        self._woken.set()

    def stop(self) -> None:
        """Have the thread end soon; calls in flight have some seconds."""
        self._stop.set()
        self._woken.set()
        if self.is_alive():
            cancel_group(self._warm.session, f"sink {self.name}")

    def is_alive(self) -> bool:
        """Whether its thread has not ended."""
        return self._thread.is_alive()

    def _run(self) -> None:
        with about(feed=self._feed.feed, stage="deliver", sink=self._sink.name):
            failures = 0
            while not self._stop.is_set():
                pause_s = _TURN_EVERY_S
                self._take_asked()
                try:
                    self._deliver_in_turn()
                except Exception as problem:  # noqa: BLE001 - each sink's trouble is its own
                    if self._stop.is_set():
                        return  # Spark may be gone before the thread is
                    failures = failures + 1 if self.trouble and failures else 1
                    pause_s = retry_delay_s(failures)
                    self._tell(problem, failures)
                    self._take_asked()
                    self._answer(problem)
                if self._is_last:
                    return
                self._wait(pause_s)

    def _gives_way(self) -> bool:
        """Whether somebody sends dead letters of a view again, which needs the sink's turn.

        Not with the last rows, which are delivered before: who waits for the turn does so for long.
        """
        if self._sink.view is None or self._is_last:
            return False
        task = redelivery_turn(self._feed, self._sink)
        with turn_if_free(self._settings.state_dir, task) as is_free:
            if not is_free:
                self.trouble = "another process sends its dead letters again"
            return not is_free

    def _deliver_in_turn(self) -> None:
        if self._gives_way():
            return
        with turn_if_free(self._settings.state_dir, sink_turn(self._feed, self._sink)) as is_ours:
            if not is_ours:
                self.trouble = "another process delivers to it"
                return
            # What it has opened must stay as it is, whatever the streams do meanwhile.
            with closing(self._warm.context.committer.independent()) as committer:
                session = self._warm.session.newSession()
                enter_group(session, f"sink {self.name}", pool="sinks")
                context = replace(self._warm.context, committer=committer)
                told = (self._feed, self._sink)
                outside = outside_of(self._settings, self._endpoints, *told, session)
                with SinkRun(session, context, *told, self._settings, outside) as run:
                    self._follow(run)

    def _follow(self, run: SinkRun) -> None:
        while not self._stop.is_set():
            is_last = self._is_last  # what is there now will be delivered
            self._woken.clear()
            self._take_asked()
            self._take(run.deliver(self._stop, self._take, self._gives_way))
            if not self._stop.is_set():  # else something may be left
                self._answer(None)
            if is_last or self._gives_way():
                return
            self._woken.wait(_LOOK_ANYWAY_S)

    def _take_asked(self) -> None:
        while not self._asked.empty():
            self._answering.append(self._asked.get())

    def _answer(self, problem: Exception | None) -> None:
        for answer in self._answering:
            if problem is None:
                answer.set_result(None)
            else:
                answer.set_exception(problem)
        self._answering.clear()

    def _take(self, report: DeliveryReport) -> None:
        self.progressed_at = time.monotonic()
        if report.calls or report.dead_rows or self.trouble:
            self.trouble = ""
            self._announce(report)

    def _tell(self, problem: Exception, failures: int) -> None:
        self.trouble = first_line(problem) or type(problem).__name__
        if not isinstance(problem, LakeAssetsError):
            _LOG.warning("sink %s cannot deliver", self.name, exc_info=problem)
        then = f"it is tried again in {retry_delay_s(failures):.0f} s, and no row is lost"
        reason = f"stands still: {self.trouble}; {then}"
        self._announce(SinkFailed(feed=self._feed.feed, sink=self._sink.name, reason=reason))

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while self._asked.empty() and time.monotonic() < until:
            if self._stop.is_set() or self._is_last:
                return
            self._woken.wait(max(0.0, min(_TURN_EVERY_S, until - time.monotonic())))
            self._woken.clear()
