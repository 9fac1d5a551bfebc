"""The fence between a feed's streams and who erases: no batch has a plan of before an erasure.

Streams hold it, together, from the look at the erasures until a batch is committed or given up.
Whoever erases notes the erasure, then waits for all of them to leave once: from then on each batch
that is under way, and each that comes, was planned by it.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lake_assets.runtime.file_lock import lock, shared_lock


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
def while_none_is_planned(state_dir: Path, feed: str) -> Iterator[None]:
    """Wait until no batch of a feed is under way, and keep others from being planned meanwhile."""
    with lock(_gate(state_dir, feed)), lock(_fence(state_dir, feed)):
        yield


def _gate(state_dir: Path, feed: str) -> Path:
    return state_dir / f"erasing-{feed}.gate"


def _fence(state_dir: Path, feed: str) -> Path:
    return state_dir / f"erasing-{feed}.lock"
