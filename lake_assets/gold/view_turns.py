"""The turns that refreshes of gold views take: who waits for one says, after a while, for whom."""

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.processes import ProcessId
from lake_assets.state.files import current_heartbeat, turn, turn_if_free
from lake_assets.state.turn_holders import Holder, holder_of, noted_holder

_LOG = logging.getLogger(__name__)

TELL_AFTER_S = 5.0
"""Seconds of waiting after which that is told: most refreshes are over by then, and nobody who
types a command waits much longer without a word."""


def turn_of(feed: Feed, view: GoldView) -> str:
    """The turn that refreshes of a view take."""
    return f"refresh-{feed.feed}-{view.name}"


@contextmanager
def turn_of_views(state_dir: Path, feed: Feed, views: Iterable[GoldView]) -> Iterator[None]:
    """Wait until nobody else refreshes one of these views, and keep the others waiting.

    Raises:
        LakeError: the folder of the locks cannot be written.
    """
    with ExitStack() as turns:
        # In one order, so that no two ever wait for each other.
        for view in sorted(views, key=lambda view: turn_of(feed, view)):
            task = turn_of(feed, view)
            is_ours = turns.enter_context(turn_if_free(state_dir, task, within_s=TELL_AFTER_S))
            if not is_ours:
                _LOG.warning("%s", told_of_wait(state_dir, feed, view))
                turns.enter_context(turn(state_dir, task))
            turns.enter_context(noted_holder(state_dir, task))
        yield


@contextmanager
def turn_of_view_if_free(state_dir: Path, feed: Feed, view: GoldView) -> Iterator[bool]:
    """As `turn_of_views`, without waiting: tells whether nobody else refreshes the view."""
    task = turn_of(feed, view)
    with ExitStack() as turns:
        is_ours = turns.enter_context(turn_if_free(state_dir, task))
        if is_ours:
            turns.enter_context(noted_holder(state_dir, task))
        yield is_ours


def told_of_wait(state_dir: Path, feed: Feed, view: GoldView) -> str:
    """Who keeps others waiting for a view, since when, and what may be done, in words."""
    beat, holder = current_heartbeat(state_dir), holder_of(state_dir, turn_of(feed, view))
    streams = beat.process if beat is not None else None
    return words_of_wait(f"{feed.feed}.{view.name}", holder, streams, time.monotonic())


def words_of_wait(name: str, holder: Holder | None, streams: ProcessId | None, now: float) -> str:
    """As `told_of_wait`; without a clock and files.

    Args:
        name: of the view, with its feed.
        holder: who has its turn, if that can be told.
        streams: the process of the streams.
        now: `time.monotonic()`.
    """
    leave = "Ctrl-C ends the wait and changes nothing"
    if holder is None:
        return f"view {name}: this waits for another process, which is at it. {leave}"
    fact = f"process {holder.process.pid} (`{holder.command}`) has been at it for "
    fact += f"{now - holder.since:.0f} s, and this waits for it"
    if holder.process == streams:
        step = "the streams give a view up after LAKE_ASSETS_STREAM_VIEW_TIMEOUT_S seconds"
    else:
        step = f"`kill {holder.process.pid}` ends what is waited for"
    return f"view {name}: {fact}. {leave}; {step}"
