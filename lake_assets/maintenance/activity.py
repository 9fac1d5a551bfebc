"""Whether a feed is being maintained now, and when it last was; for whoever watches."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lake_assets.runtime.file_lock import is_locked
from lake_assets.state.files import maintenance_turn


def note_of(state_dir: Path, feed: str) -> Path:
    """The file that each run writes at its end: which files it found unused."""
    return state_dir / "unused_files" / f"{feed}.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class Activity:
    """A feed's maintenance."""

    is_running: bool
    last_ended_at: datetime | None
    """UTC; None if no run of this lake has ended."""


def activity_of(state_dir: Path, feed: str) -> Activity:
    """How a feed's maintenance is; changes nothing."""
    try:
        written = note_of(state_dir, feed).stat().st_mtime
    except OSError:
        ended_at = None
    else:
        ended_at = datetime.fromtimestamp(written, UTC)
    is_running = is_locked(state_dir / f"{maintenance_turn(feed)}.lock")
    return Activity(is_running=is_running, last_ended_at=ended_at)
