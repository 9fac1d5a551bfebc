"""Runs of feeds beside the streams, in their process and Spark: each takes what is new, and ends.

A run is this process's own, or another process asked for it (`streams.run_requests`). One of a feed
at a time; the next one waits. What goes wrong with a run is told to who asked for it, and ends no
other.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from lake_assets.errors import LakeAssetsError, StreamError, first_line
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.reports import GoldRefreshed, Refreshed, ViewFailed
from lake_assets.settings.schema import Settings
from lake_assets.streams.feed_streams import FeedStreams
from lake_assets.streams.refresh_answers import NotRefreshedHereError, failure_of
from lake_assets.streams.refresh_requests import feed_digest
from lake_assets.streams.request_files import (
    LOOK_EVERY_S,
    RequestFolder,
    answer,
    tell,
)
from lake_assets.streams.run_requests import DONE, FOLLOWED, RUN_REQUEST, RunRequest, folder_of
from lake_assets.streams.running_streams import RunningStreams, Tell
from lake_assets.streams.told_events import FeedEvent, line_of

_LOG = logging.getLogger(__name__)

_TELL_AGAIN_S = 2.0
"""Seconds between two tries to write to a disk that is full."""


@dataclass(frozen=True, kw_only=True)
class Around:
    """What runs need of the process that they are in."""

    streams_of: Callable[[Feed, threading.Event], FeedStreams]
    """A feed's streams that end when they have caught up, or the event is set."""

    refresh: Callable[[str], "Mapping[str, Future[Refreshed]]"]
    """Has all views of a feed refreshed that have a pace; as `LiveGold.refresh_paced`."""

    deliver: Callable[[str, threading.Event], None]
    """Has the sinks of a feed deliver what it has now, unless the event is set; as
    `LiveSinks.deliver`."""

    running: RunningStreams
    """All streams of the process."""


@dataclass(kw_only=True)
class _Run:
    """One run of a feed."""

    feed: Feed
    tell: Tell
    is_wanted: Callable[[], bool]
    done: Callable[[BaseException | None], None]
    stop: threading.Event = field(default_factory=threading.Event)
    streams: FeedStreams | None = None
    thread: threading.Thread | None = None

    def end(self) -> None:
        """Have it end after the batch in hand."""
        self.stop.set()
        if self.streams is not None:
            self.streams.end()


class TriggeredRuns:
    """Runs feeds for whoever asks, while its block runs; another thread looks for requests."""

    def __init__(
        self, settings: Settings, feeds: Sequence[Feed], followed: frozenset[str], around: Around
    ) -> None:
        """Prepare; only the holder of the lock on the lake's streams may.

        Args:
            settings: where the lake is.
            feeds: all that there are.
            followed: names of those that are taken here without pause.
            around: the process that runs are in.
        """
        self._folder = RequestFolder(folder_of(settings), RUN_REQUEST.validate_json, "a run")
        self._feeds = {feed.feed: feed for feed in feeds}
        self._definitions = {feed.feed: feed_digest(settings, feed) for feed in feeds}
        self._followed = followed
        self._around = around
        self._unsent: dict[Path, str] = {}
        self._waiting: list[_Run] = []
        self._under_way: dict[str, _Run] = {}
        self._failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="runs of feeds", daemon=True)

    def __enter__(self) -> Self:
        """Start the thread."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End it, and runs after their batch in hand; those stay without an answer."""
        self._stop.set()
        self._thread.join()
        for run in self._under_way.values():
            run.end()
        for run in self._under_way.values():
            if run.thread is not None:
                run.thread.join()

    def add_own(self, name: str, put: Tell) -> None:
        """Run a feed for this process; what it does is `put`."""
        self._waiting.append(
            _Run(feed=self._feeds[name], tell=put, is_wanted=lambda: True, done=self._note_own)
        )

    def finish(self, stop: threading.Event) -> None:
        """Wait until no run is under way or waits, or `stop` is set.

        Raises:
            Exception: this process's own run failed by it.
        """
        while (self._waiting or self._under_way) and not stop.wait(LOOK_EVERY_S):
            pass
        if self._failure is not None:
            raise self._failure

    def _note_own(self, problem: BaseException | None) -> None:
        self._failure = problem

    def _run(self) -> None:
        trouble = ""
        while not self._stop.wait(LOOK_EVERY_S):
            try:
                self._look()
                trouble = ""
            except Exception as problem:  # noqa: BLE001 - the next request may be one
                told = first_line(problem) or type(problem).__name__
                if told != trouble:
                    _LOG.warning("requests to run feeds wait: %s", told)
                trouble = told

    def _look(self) -> None:
        for taken, request in self._folder.take():
            self._consider(taken, request)
        for taken, text in list(self._unsent.items()):
            answer(taken, text)  # on a full disk, with the next look
            del self._unsent[taken]
        for name, run in list(self._under_way.items()):
            if run.thread is not None and not run.thread.is_alive():
                del self._under_way[name]
            elif not run.is_wanted():
                run.end()
        self._waiting = [run for run in self._waiting if run.is_wanted()]
        for run in list(self._waiting):
            if run.feed.feed not in self._under_way:
                # In this order, so that it is never in neither.
                self._under_way[run.feed.feed] = run
                self._waiting.remove(run)
                run.thread = threading.Thread(
                    target=self._work, args=(run,), name=f"run of {run.feed.feed}", daemon=True
                )
                run.thread.start()

    def _consider(self, taken: Path, request: RunRequest) -> None:
        feed = self._feeds.get(request.feed)
        if request.feed in self._followed:
            self._unsent[taken] = FOLLOWED
        elif feed is None or self._definitions[feed.feed] != request.definition:
            self._unsent[taken] = failure_of(_of_another_declaration(request.feed))
        else:
            self._waiting.append(
                _Run(
                    feed=feed,
                    tell=partial(_tell, taken),
                    is_wanted=lambda: self._folder.is_wanted(request, taken),
                    done=partial(_answer, taken, feed),
                )
            )

    def _work(self, run: _Run) -> None:
        began = time.monotonic()
        problem: BaseException | None = None
        try:
            self._take_rows(run)
            if not run.stop.is_set():
                self._refresh_views(run)
            # Without silver tables rows are taken only where sinks have them.
            if not run.feed.has_silver and not run.stop.is_set():
                self._around.deliver(run.feed.feed, run.stop)
        except Exception as failure:  # noqa: BLE001 - whoever asked is told
            problem = failure
        if run.stop.is_set():
            return  # without an answer: what is left is for the next run
        took = time.monotonic() - began
        _LOG.info("run of feed %s %s after %.0f s", run.feed.feed, _how(problem), took)
        while run.is_wanted() and not run.stop.wait(0):
            try:
                run.done(problem)
            except OSError as trouble:  # a full disk; whoever asked waits
                _LOG.warning("the end of a run was not told: %s", trouble)
                run.stop.wait(_TELL_AGAIN_S)
            else:
                return

    def _take_rows(self, run: _Run) -> None:
        streams = self._around.streams_of(run.feed, run.stop)
        run.streams = streams
        self._around.running.add(streams, tell=run.tell)
        try:
            streams.run()
        finally:
            self._around.running.remove(streams)
        if streams.failure is not None:
            raise streams.failure

    def _refresh_views(self, run: _Run) -> None:
        """Refresh the views that streams refresh, now that silver has all; others are left alone.

        Raises:
            StreamError: some cannot be.
        """
        name = tables_owner(run.feed)  # whose views read its rows
        answers = self._around.refresh(name)
        while wait_for(answers.values(), timeout=LOOK_EVERY_S).not_done:
            if run.stop.is_set():
                return
        failed = {}
        for view, refreshed in answers.items():
            problem = refreshed.exception()
            if problem is None:
                run.tell(GoldRefreshed(feed=name, refreshed=refreshed.result()))
                continue
            failed[view] = _why(problem)
            run.tell(ViewFailed(feed=name, view=view, reason=failed[view]))
        if failed:
            fact = "; ".join(f"{view} cannot be refreshed ({why})" for view, why in failed.items())
            raise StreamError(f"gold of feed {name!r}", fact, "All rows are in silver; repair it")


def _how(problem: BaseException | None) -> str:
    return "ended" if problem is None else f"failed ({first_line(problem)})"


def _why(problem: BaseException) -> str:
    if isinstance(problem, NotRefreshedHereError):
        return "it is suspended: `lake-assets refresh` computes it, and says what is wrong"
    return first_line(problem) or type(problem).__name__


def _of_another_declaration(feed: str) -> StreamError:
    return StreamError(
        f"feed {feed!r}",
        "was not run: the lake's streams began with another declaration of it, or of what its "
        "views read, or with other settings of Spark",
        "Start them again, so that they take the changed file (terminate their run in Dagster)",
    )


def _tell(taken: Path, event: FeedEvent) -> None:
    try:
        tell(taken, line_of(event))
    except OSError as problem:  # a full disk; Dagster is told of the tables with the next run
        _LOG.warning("what a run did was not told: %s", problem)


def _answer(taken: Path, feed: Feed, problem: BaseException | None) -> None:
    if problem is not None and not isinstance(problem, LakeAssetsError):
        _LOG.warning("a run of feed %s failed", feed.feed, exc_info=problem)
    what = f"run of feed {feed.feed!r}"
    answer(taken, DONE if problem is None else failure_of(problem, what))
