"""What a feed's streams wait for besides rows: a pause after an error, somebody who starts them.

The state that others look at is here, too; what is streamed is `streams.feed_streams`'.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from lake_assets.model.feeds import Feed
from lake_assets.model.reports import Stage, Waiting
from lake_assets.settings.schema import Settings
from lake_assets.state.stream_stops import StreamStop, StreamStoppedError, stop_of
from lake_assets.streams.batch_attempts import FeedAttempts
from lake_assets.streams.pipeline import Pipeline

LOOK_EVERY_S = 1.0
"""Seconds between two looks whether somebody had a stream started, or a poisoned batch skipped or
tried again."""


@dataclass(kw_only=True)
class FeedWaits:
    """A feed's streams as far as they wait."""

    pipeline: Pipeline
    settings: Settings
    feed: Feed
    until_caught_up: bool
    announce: Callable[[Waiting], None]
    stop: threading.Event

    progressed_at: float = field(default_factory=time.monotonic)
    """When a batch last ended, or there was last nothing to do; as `time.monotonic`."""

    waiting: Waiting | None = None
    """What the feed waits for, if it does."""

    failure: BaseException | None = None
    """Of a feed that failed and has not run well since."""

    stopped: str = ""
    """Why it stands still while others go on, until somebody does something; "" if it does not."""

    stopped_by: StreamStop | None = None
    """The stop at which it stands still, or ended, since somebody stopped it deliberately."""

    _counted: int = 0
    """Failures of batches that were answered by another try, or by the end."""

    def _is_to_stop(self) -> bool:
        """Whether somebody stopped the stream; what is killed from now on was no batch's fault."""
        # A feed with a schedule of its own is stopped by turning that off.
        if self.feed.is_triggered or stop_of(self.settings.state_dir, self.feed.feed) is None:
            return False
        if self.pipeline.attempts is not None:
            self.pipeline.attempts.end()
        return True

    def _is_started(self) -> bool:
        """Stand still while the stream is stopped deliberately; False if it is to end."""
        name, state_dir = self.feed.feed, self.settings.state_dir
        asked = stop_of(state_dir, name)
        if self.feed.is_triggered or asked is None:
            return True
        self.stopped_by = asked
        self.stopped, self.waiting, self.failure = "", None, None
        problem = StreamStoppedError({name: asked})
        self.announce(Waiting(feed=name, stage=Stage.INGEST, reason=str(problem)))
        if self.until_caught_up:
            self.failure = problem  # whoever asked for all rows is told
            return False
        while not self.stop.wait(LOOK_EVERY_S):
            self.progressed_at = time.monotonic()
            if stop_of(state_dir, name) is None:
                self.stopped_by = None
                self._begin_anew()
                return True
        return False

    def _begin_anew(self) -> None:
        """Go on as a process that has just begun."""
        self.progressed_at = time.monotonic()
        self.stopped, self.failure = "", None
        attempts = FeedAttempts.of(self.settings.state_dir, self.feed)
        self.pipeline, self._counted = replace(self.pipeline, attempts=attempts), 0

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.stop.wait(min(1.0, seconds)):
            self.progressed_at = time.monotonic()
            if self._is_to_stop():
                return

    def _tell(self, reason: str, stage: Stage = Stage.INGEST) -> None:
        self.waiting = Waiting(feed=self.feed.feed, stage=stage, reason=reason)
        self.announce(self.waiting)
