"""How often in a row a stage failed at one batch, kept between processes.

What counts as a failure, and what follows from how many, is the caller's to decide.
"""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from lake_assets.model.reports import Stage


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchRange:
    """What part of its source a batch takes."""

    begin: str
    """Where it begins, exactly: a batch that begins there again is the same one."""

    end: str
    """Where it ends, for whoever is to skip it."""

    words: str
    """Both, as people read them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Strikes:
    """The last batch that a stage began, and how often in a row it came to nothing."""

    batch: BatchRange
    errors: int = 0
    """By an error that is the batch's own."""

    deaths: int = 0
    """By the death of the process or of a worker."""

    cause: str = ""
    """Of the last of them, in words."""

    is_running: bool = False
    """Whether it was under way when this was written; whoever reads so after a start knows that
    its process died."""

    until: str = ""
    """The end of a larger batch that failed and began there or before: up to it, batches are to be
    small, so that few rows are skipped with those that fail."""

    @property
    def count(self) -> int:
        """Failures of both kinds."""
        return self.errors + self.deaths


_STRIKES = TypeAdapter(Strikes)


def strikes_file(state_dir: Path, feed: str, stage: str) -> Path:
    """Where a stage's strikes are kept."""
    return state_dir / "batches" / f"{feed}-{stage}.json"


def read_strikes(file: Path) -> Strikes | None:
    """What is kept; None if nothing is that can be read."""
    try:
        return _STRIKES.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None


def strikes_by_stage(state_dir: Path, feed: str) -> dict[Stage, Strikes]:
    """What is kept of a feed, of those stages of which anything is."""
    found = {stage: read_strikes(strikes_file(state_dir, feed, stage)) for stage in Stage}
    return {stage: strikes for stage, strikes in found.items() if strikes is not None}


def write_strikes(file: Path, strikes: Strikes) -> None:
    """Keep strikes, in the place of those before; on a full disk nobody counts.

    Survives the process's death, which is what it is for. That of the machine may tear it, and
    then the count begins again.
    """
    text = _STRIKES.dump_json(strikes)
    with suppress(OSError):
        try:
            file.write_bytes(text)
        except FileNotFoundError:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text)


def forget_strikes(file: Path) -> None:
    """Begin a new count."""
    with suppress(OSError):
        file.unlink(missing_ok=True)
