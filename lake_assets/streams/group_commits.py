"""The thread that tells a source's own tools how far feeds are, while the streams run.

Kafka's show it as the lag of a consumer group a feed. It is told now and then; what it is told is
what bronze has, and nothing goes by it. That it cannot be told stops nothing.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from lake_assets.errors import LakeAssetsError, SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace
from lake_assets.model.reports import BatchReport, Stage
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import tools_of
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.progress import ingested_offsets

_LOG = logging.getLogger(__name__)

_EVERY_S = 5.0
"""Seconds between two commits of a feed at least: lag tools look each minute or so."""

_AGAIN_S = 3600.0
"""Seconds after which the same offsets are committed again. Brokers forget a group whose offsets
nobody commits, after a week by default."""

_AFTER_FAILURE_S = 60.0
"""Seconds before the next try, so that a refusal does not fill the broker's log."""

_PATIENCE_S = 5.0
"""Seconds for an answer; the end of the streams waits for one at most."""


class Tools(Protocol):
    """What is told the offsets: `sources.kafka.group_offsets.GroupOffsets`."""

    def commit(self, offsets: ByPlace, *, timeout_s: float) -> None:
        """Tell the offset that comes next, by name and partition.

        Raises:
            SourceError: it does not take them.
        """


@dataclass(kw_only=True)
class GroupCommits:
    """What is told of one feed, and when; used by one thread but for `note`."""

    tools: Tools
    clock: Callable[[], float] = time.monotonic

    _reached: ByPlace = field(default_factory=dict)
    _told: ByPlace = field(default_factory=dict)
    _due_at: float = 0.0
    _again_at: float = 0.0
    _complaint: str = ""

    def note(self, reached: ByPlace) -> None:
        """Take down how far the feed is."""
        self._reached = reached

    def tick(self) -> None:
        """Tell what is new, if that is due."""
        if self.clock() >= self._due_at:
            self.flush()

    def flush(self) -> None:
        """Tell what is new, or has not been told for long."""
        reached, now = self._reached, self.clock()
        if not reached or (reached == self._told and now < self._again_at):
            return
        try:
            self.tools.commit(reached, timeout_s=_PATIENCE_S)
        except SourceError as problem:
            self._due_at = now + _AFTER_FAILURE_S
            if str(problem) != self._complaint:
                _LOG.warning("%s", problem)
            self._complaint = str(problem)
        else:
            self._told, self._complaint = reached, ""
            self._due_at, self._again_at = now + _EVERY_S, now + _AGAIN_S


class GroupCommitThread:
    """Tells what batches came to; `keep_group_commits` starts and stops it."""

    def __init__(self, settings: Settings, feeds: Sequence[Feed], endpoints: Endpoints) -> None:
        """Prepare the thread; nothing starts yet."""
        self._settings = settings
        self._feeds = feeds
        told = {feed.feed: tools_of(feed, endpoints) for feed in feeds}
        self._commits = {
            name: GroupCommits(tools=tools) for name, tools in told.items() if tools is not None
        }
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="group commits", daemon=True)

    def start(self) -> None:
        """Start the thread, unless there is nothing that it could tell."""
        if self._commits:
            self._begin()
            self._thread.start()

    def stop(self) -> None:
        """Tell what is new, and end."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def note(self, report: BatchReport) -> None:
        """Take down what a batch came to; quick."""
        commits = self._commits.get(report.feed)
        if commits is not None and report.stage is Stage.INGEST and report.span is not None:
            commits.note(report.span.offsets_to)

    def _run(self) -> None:
        while not self._stop.wait(1.0):
            for commits in self._commits.values():
                commits.tick()
        flush_all(self._commits.values())

    def _begin(self) -> None:
        """Tell where feeds are before their first batch, which may be long in coming."""
        for feed in self._feeds:
            if feed.feed in self._commits:
                try:
                    reached = ingested_offsets(lake_of(self._settings), feed)
                except LakeAssetsError as problem:
                    _LOG.warning("%s", problem)
                else:
                    self._commits[feed.feed].note(reached)


def flush_all(every: Iterable[GroupCommits], clock: Callable[[], float] = time.monotonic) -> None:
    """Tell what is new of all feeds, as far as that is quick.

    Brokers that are down keep the end of the streams waiting once, and not once a feed.
    """
    until = clock() + _PATIENCE_S
    for commits in every:
        if clock() >= until:
            return
        commits.flush()


@contextmanager
def keep_group_commits(
    settings: Settings, feeds: Sequence[Feed], endpoints: Endpoints
) -> Iterator[Callable[[BatchReport], None]]:
    """Tell sources' own tools how far feeds are until the end of the block.

    Yields what is to be told of each batch; it does nothing where settings do not want it.
    """
    if not settings.kafka.commit_offsets:
        yield lambda _: None
        return
    thread = GroupCommitThread(settings, feeds, endpoints)
    thread.start()
    try:
        yield thread.note
    finally:
        thread.stop()
