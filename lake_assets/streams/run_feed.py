"""One run of a feed: what is new is taken, then it ends. By the lake's streams if they run.

They have Spark already, and only one process streams into a lake at a time. Without them the run
brings a Spark of its own; runs of other feeds that begin meanwhile are served by that one.
"""

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager

from lake_assets.errors import StreamsLockedError, first_line
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.files import is_locked
from lake_assets.state.lake_id import ensure_bound
from lake_assets.state.run_notes import note_complete, note_run_failed
from lake_assets.streams.run import StreamEvent, Tick, stream_events
from lake_assets.streams.run_requests import ask_for_run
from lake_assets.streams.running_streams import ToRun
from lake_assets.streams.stop_request import ensure_not_all_stopped

_LOG = logging.getLogger(__name__)

_COME_WITHIN_S = 120.0
"""Seconds that streams have to come which somebody starts: a supervisor's longest pause after their
deaths. Longer keeps a run waiting for streams that do not come, shorter has it hold the lake's lock
for as long as it lasts, and the streams wait."""

_LOOK_EVERY_S = 1.0
"""Seconds between two looks for them."""


def nobody_starts_streams() -> bool:
    """As `run_feed`'s `are_coming`, where nobody looks after streams."""
    return False


def run_feed(
    settings: Settings,
    feeds: Sequence[Feed],
    feed: Feed,
    locate: Callable[[], Endpoints],
    *,
    owner: str,
    are_coming: Callable[[], bool] = nobody_starts_streams,
) -> Generator[StreamEvent, None, None]:
    """Take all that a feed's source has at the beginning to silver, then refresh its views; end.

    Views are those that streams refresh. Closing the generator ends the run after the batch in
    hand; the next run goes on from there.

    Args:
        settings: where the lake is.
        feeds: all that there are.
        feed: the one to run.
        locate: finds broker and registry.
        owner: who runs it, for the heartbeat.
        are_coming: whether streams of other feeds will run soon, if none do.

    Raises:
        SourceError: its source does not answer.
        StreamStoppedError: somebody stopped the stream of the feed, which has no schedule.
        StreamError: a batch failed, views could not be refreshed, or the streams do not take it.
        LakeAssetsError: Spark, the lake or the feed cannot be used.
    """
    ensure_bound(settings)
    if not feed.is_triggered:
        ensure_not_all_stopped(settings.state_dir, [feed.feed])
    began = time.time()
    try:
        yield from _run(settings, feeds, feed, locate, owner, are_coming)
    except Exception as problem:
        with _told_if_it_cannot_be():
            note_run_failed(settings.state_dir, feed.feed, began, first_line(problem))
        raise
    with _told_if_it_cannot_be():
        note_complete(settings.state_dir, feed.feed, began)


def _run(
    settings: Settings,
    feeds: Sequence[Feed],
    feed: Feed,
    locate: Callable[[], Endpoints],
    owner: str,
    are_coming: Callable[[], bool],
) -> Generator[StreamEvent, None, None]:
    own_from = time.monotonic() + _COME_WITHIN_S
    while True:
        if is_locked(settings.state_dir):
            if (yield from _by_streams(settings, feed)):
                return
            own_from = time.monotonic() + _COME_WITHIN_S  # others may come in their place
        elif time.monotonic() >= own_from or not are_coming():
            try:
                yield from stream_events(
                    settings,
                    feeds,
                    locate(),
                    owner=owner,
                    what=ToRun(followed=frozenset(), run=feed.feed),
                )
            except StreamsLockedError:
                continue  # somebody was quicker: those will do it
            return
        yield Tick()
        time.sleep(_LOOK_EVERY_S)


def _by_streams(settings: Settings, feed: Feed) -> Generator[StreamEvent, None, bool]:
    asking = ask_for_run(settings, feed)
    try:
        while True:
            try:
                event = next(asking)
            except StopIteration as end:
                return bool(end.value)
            yield Tick() if event is None else event
    finally:
        asking.close()


@contextmanager
def _told_if_it_cannot_be() -> Iterator[None]:
    try:
        yield
    except OSError as problem:  # what was taken is not less taken for it
        _LOG.warning("the end of a run was not noted: %s", problem)
