"""When a feed with a schedule last had all of its source, by feed: for schedules and alerts.

Only words and alerts depend on what is noted here; what was taken, the tables know. Times are the
clock of the wall's, as a schedule's ticks.
"""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from lake_assets.runtime.atomic_write import replace_text


class RunNote(BaseModel):
    """What is known of one feed's runs."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    wanted_since: float | None = None
    """When it was first seen that it has a schedule, if nothing was complete since; seconds since
    1970."""

    complete_at: float | None = None
    """All that its source had then is in silver; seconds since 1970, None if nobody knows."""

    failed_at: float | None = None
    """When the last run failed, if it did; seconds since 1970."""

    why: str = ""
    """Why it failed, in words."""


def run_note_of(state_dir: Path, feed: str) -> RunNote:
    """What is noted of a feed; nothing if it is new, or what was noted cannot be read."""
    try:
        return RunNote.model_validate_json(_file(state_dir, feed).read_bytes())
    except (OSError, ValidationError):
        return RunNote()


def note_wanted(state_dir: Path, feed: str, now: float) -> RunNote:
    """Note that a feed has a schedule, if nothing is noted of it yet; raises as `note_complete`."""
    note = run_note_of(state_dir, feed)
    if note.complete_at is None and note.wanted_since is None:
        note = note.model_copy(update={"wanted_since": now})
        replace_text(_file(state_dir, feed), note.model_dump_json())
    return note


def forget_runs(state_dir: Path, feed: str) -> None:
    """Forget a feed that has no schedule any more; raises as `note_complete`."""
    _file(state_dir, feed).unlink(missing_ok=True)


def note_complete(state_dir: Path, feed: str, at: float) -> None:
    """Note that all that a feed's source had at a time is in silver.

    Raises:
        OSError: the state folder cannot be written.
    """
    replace_text(_file(state_dir, feed), RunNote(complete_at=at).model_dump_json())


def note_run_failed(state_dir: Path, feed: str, at: float, why: str) -> None:
    """Note a run that failed; raises as `note_complete`."""
    note = run_note_of(state_dir, feed).model_copy(update={"failed_at": at, "why": why})
    replace_text(_file(state_dir, feed), note.model_dump_json())


def _file(state_dir: Path, feed: str) -> Path:
    return state_dir / "feed-runs" / f"{feed}.json"
