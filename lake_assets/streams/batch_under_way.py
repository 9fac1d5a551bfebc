"""Waiting for a batch of a feed's streams that is under way: for whom, in words, and not for ever.

A process that was stopped, or whose Spark hangs, keeps the fence (`state.erasing_fence`) for good.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil

from lake_assets.errors import ErasureError
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.processes import find_process
from lake_assets.state.erasing_fence import while_none_is_planned
from lake_assets.state.files import current_heartbeat

WITHIN_S = 300.0
"""Seconds for a batch to end. Less would give up beside a large one of a backlog; more would have
whoever asked wait for what mostly never ends."""

_TELL_AFTER_S = 5.0
"""Seconds after which it is told whom this waits for: most batches are over by then."""


@contextmanager
def while_no_batch(
    state_dir: Path, feed: str, tell: Callable[[str], None], *, within_s: float = WITHIN_S
) -> Iterator[None]:
    """Wait until no batch of a feed is under way, and keep others from being planned meanwhile.

    Args:
        state_dir: of the lake.
        feed: whose streams.
        tell: told after a while whom this waits for.
        within_s: seconds after which it is given up.

    Raises:
        ErasureError: it did not end.
    """
    soon_s = min(_TELL_AFTER_S, within_s)
    with ExitStack() as held:
        if not held.enter_context(while_none_is_planned(state_dir, feed, within_s=soon_s)):
            tell(f"feed {feed!r}: this waits for a batch that is under way, {_whose(state_dir)[0]}")
            rest_s = within_s - soon_s
            if not held.enter_context(while_none_is_planned(state_dir, feed, within_s=rest_s)):
                raise _held_up(state_dir, feed, within_s)
        yield


def _held_up(state_dir: Path, feed: str, waited_s: float) -> ErasureError:
    whose, step = _whose(state_dir)
    fact = f"a batch of it, {whose}, has not ended for {waited_s:.0f} s, and may bring rows still"
    noted = "What was asked is noted and obeyed: ask for it again, with its values"
    return ErasureError(f"feed {feed!r}", fact, f"{step}. {noted}")


def _whose(state_dir: Path) -> tuple[str, str]:
    return words_of(current_heartbeat(state_dir), time.monotonic(), _is_stopped)


def words_of(
    beat: Heartbeat | None, now: float, is_stopped: Callable[[Heartbeat], bool | None]
) -> tuple[str, str]:
    """Whose batch it is, and what may be done; without a clock and files.

    Args:
        beat: of the streams, if they have one that means something here.
        now: `time.monotonic()`.
        is_stopped: whether the process of a heartbeat stands still; None if there is none.
    """
    stopped = None if beat is None else is_stopped(beat)
    if beat is None or stopped is None:
        return "of a process that is not known", "Let `lake-assets stream`, or who skips one, end"
    if stopped:
        words = f"of the streams (process {beat.pid}), which were stopped (SIGSTOP)"
        return words, f"`kill -CONT {beat.pid}` lets them go on; `kill -9 {beat.pid}` loses nothing"
    quiet_s = now - beat.progressed_at
    words = f"of the streams (process {beat.pid}), whose last one ended {quiet_s:.0f} s ago"
    return words, f"Let it end, or restart the streams: `kill {beat.pid}` loses nothing"


def _is_stopped(beat: Heartbeat) -> bool | None:
    process = find_process(beat.process)
    try:
        return None if process is None else process.status() == psutil.STATUS_STOPPED
    except psutil.Error:
        return None
