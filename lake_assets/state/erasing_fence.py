"""The fence between a feed's streams and who erases: no batch has a plan of before an erasure.

Streams hold it, together, from the look at the erasures until a batch is committed or given up.
Whoever erases notes the erasure, then waits for all of them to leave once: from then on each batch
that is under way, and each that comes, was planned by it.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lake_assets.runtime.file_lock import lock, shared_lock, try_lock


@contextmanager
def while_planned(state_dir: Path, feed: str) -> Iterator[None]:
    """Have whoever erases rows of a feed wait while a batch is planned, made and committed.

    Both stages may be within at once. Nobody may enter it within itself: whoever waits for all to
    leave keeps others from entering meanwhile, so that streams that are never idle let it through.
    """
    with ExitStack() as held:
        with lock(_gate(state_dir, feed)):
            held.enter_context(shared_lock(_fence(state_dir, feed)))
        yield


@contextmanager
def while_none_is_planned(state_dir: Path, feed: str, *, within_s: float) -> Iterator[bool]:
    """Wait until no batch of a feed is under way, and keep others from being planned meanwhile.

    Args:
        state_dir: of the lake.
        feed: whose streams.
        within_s: seconds after which it is given up: a process that stands still leaves never.

    Yields:
        Whether none is under way.
    """
    until = time.monotonic() + within_s
    with try_lock(_gate(state_dir, feed), within_s=within_s) as is_first:
        left_s = max(0.0, until - time.monotonic())
        if not is_first:
            yield False
            return
        with try_lock(_fence(state_dir, feed), within_s=left_s) as are_gone:
            yield are_gone


def letters_of(feed: str) -> str:
    """In the place of a feed: the fence of its sinks, who hold it while they record dead letters.

    No name of a feed has a `-`.
    """
    return f"{feed}-letters"


def _gate(state_dir: Path, feed: str) -> Path:
    return state_dir / f"erasing-{feed}.gate"


def _fence(state_dir: Path, feed: str) -> Path:
    return state_dir / f"erasing-{feed}.lock"
