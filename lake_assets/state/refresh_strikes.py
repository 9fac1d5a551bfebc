"""How often in a row the process that refreshed a view died while it did.

A view that takes all of Spark's memory ends the streams that refresh it, and would again and again.
What follows from the number is the caller's to decide.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def strikes_of(state_dir: Path, view: str) -> int:
    """How many processes have died in a row while they refreshed the view; `feed.view`."""
    with suppress(OSError, ValueError):
        return int(_file(state_dir, view).read_text())
    return 0


@contextmanager
def counted_strike(state_dir: Path, view: str) -> Iterator[None]:
    """Count a death of the process during the block; whatever else ends it counts as none."""
    file = _file(state_dir, view)
    with suppress(OSError):  # on a full disk nobody counts
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(strikes_of(state_dir, view) + 1))
    try:
        yield
    finally:
        clear_strikes(state_dir, view)


def clear_strikes(state_dir: Path, view: str) -> None:
    """Begin a new count."""
    with suppress(OSError):
        _file(state_dir, view).unlink(missing_ok=True)


def _file(state_dir: Path, view: str) -> Path:
    return state_dir / "refreshing" / view
