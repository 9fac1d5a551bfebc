"""Which feeds' streams somebody stopped deliberately: who did, when and why, until one starts them.

A file a feed in the state folder. That it is there is what stops the stream; what it says is for
people, so one that is torn or that nobody can read stops it all the same.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from lake_assets.errors import StreamError
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

    def __str__(self) -> str:
        """In words: `by anna on 2026-11-28 18:00 UTC (the topic moves)`."""
        words = f"by {self.by or 'somebody'}"
        if self.at is not None:
            words += f" on {datetime.fromtimestamp(self.at, UTC):%Y-%m-%d %H:%M} UTC"
        return f"{words} ({self.reason})" if self.reason else words


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
        OSError: the state folder cannot be written.
    """
    before = stop_of(state_dir, feed)
    if before is not None:
        return before
    replace_text(_file(state_dir, feed), stop.model_dump_json())
    return stop


def forget_stop(state_dir: Path, feed: str) -> StreamStop | None:
    """Let a feed's stream run again; the stop that there was. Raises as `note_stop`."""
    before = stop_of(state_dir, feed)
    _file(state_dir, feed).unlink(missing_ok=True)
    return before


def in_words(stops: Mapping[str, StreamStop]) -> str:
    """Those stops, for one line."""
    return "; ".join(f"{feed} {stop}" for feed, stop in stops.items())


def _file(state_dir: Path, feed: str) -> Path:
    return state_dir / FOLDER / f"{feed}.json"
