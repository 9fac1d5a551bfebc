"""Which feeds' streams somebody stopped deliberately: who did, when and why, until one starts them.

A file a feed in the state folder. That it is there is what stops the stream; what it says is for
people, so one that is torn or that nobody can read stops it all the same.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from lake_assets.errors import LakeError, StreamError
from lake_assets.runtime.atomic_write import replace_text

FOLDER = "stopped-streams"
"""In the state folder."""


class StreamStop(BaseModel):
    """A deliberate stop of one feed's stream."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    by: str = ""
    """Who stopped it, as far as that is known."""

    at: float | None = None
    """When, in seconds since 1970; for people alone."""

    reason: str = ""
    """Why, as whoever stopped it says."""

    @field_validator("at")
    @classmethod
    def _is_a_time(cls, at: float | None) -> float | None:
        """None of what is no time of a calendar, as milliseconds of another writer."""
        try:
            if at is not None:
                datetime.fromtimestamp(at, UTC)
        except (ValueError, OverflowError, OSError):
            return None
        return at

    def __str__(self) -> str:
        """In words: `by anna on 2026-11-28 18:00 UTC (the topic moves)`."""
        words = f"by {self.by or 'somebody'}"
        if self.at is not None:
            words += f" on {datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M} UTC"
        reason = " ".join(self.reason.split())  # one line, whatever a form has let in
        return f"{words} ({reason})" if reason else words


class StreamStoppedError(StreamError):
    """Somebody stopped feeds' streams deliberately, and nobody has started them since."""

    def __init__(self, stops: Mapping[str, StreamStop]) -> None:
        """Record by feed who stopped it and when."""
        (name, stop), is_one = next(iter(stops.items())), len(stops) == 1
        super().__init__(
            f"feed {name!r}" if is_one else "feeds",
            f"the stream was stopped deliberately {stop}"
            if is_one
            else f"all streams were stopped deliberately: {in_words(stops)}",
            f"`lake-assets streams start{f' --feed {name}' if is_one else ''}`, or the job "
            "`start_stream`, starts it again",
        )
        self.stops = dict(stops)


def stop_of(state_dir: Path, feed: str) -> StreamStop | None:
    """The stop of a feed's stream; None if nobody stopped it."""
    try:
        return StreamStop.model_validate_json(_file(state_dir, feed).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValidationError):
        return StreamStop()


def stops_of(state_dir: Path, feeds: Iterable[str]) -> dict[str, StreamStop]:
    """By feed whose stream somebody stopped, the stop."""
    found = {feed: stop_of(state_dir, feed) for feed in feeds}
    return {feed: stop for feed, stop in found.items() if stop is not None}


def note_stop(state_dir: Path, feed: str, stop: StreamStop) -> StreamStop:
    """Stop a feed's stream; of two stops the first one counts, and is returned.

    Raises:
        LakeError: the state folder cannot be written.
    """
    before = stop_of(state_dir, feed)
    if before is not None:
        return before
    try:
        replace_text(_file(state_dir, feed), stop.model_dump_json())
    except OSError as problem:
        raise _unwritable(state_dir / FOLDER, problem) from problem
    return stop


def forget_stop(state_dir: Path, feed: str) -> StreamStop | None:
    """Let a feed's stream run again; the stop that there was. Raises as `note_stop`."""
    before, file = stop_of(state_dir, feed), _file(state_dir, feed)
    try:
        file.unlink(missing_ok=True)
    except NotADirectoryError:
        pass  # nobody can have stopped it there
    except OSError as problem:
        raise _unwritable(file, problem) from problem
    return before


def in_words(stops: Mapping[str, StreamStop]) -> str:
    """Those stops, for one line."""
    return "; ".join(f"{feed} {stop}" for feed, stop in stops.items())


def _file(state_dir: Path, feed: str) -> Path:
    return state_dir / FOLDER / f"{feed}.json"


def _unwritable(path: Path, problem: OSError) -> LakeError:
    fact = f"cannot be written or deleted ({problem.strerror})"
    step = "Move away what is in its place, correct its permissions, or free some space"
    return LakeError(str(path), fact, f"{step}; then try again")
