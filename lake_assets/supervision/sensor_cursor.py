"""What the supervisor remembers between two looks, small enough for a sensor's cursor. Pure.

Times are by the monotonic clock of one boot, as a heartbeat's.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from pydantic import TypeAdapter, ValidationError

from lake_assets.model.processes import ProcessId
from lake_assets.supervision.facts import Phase, RunFact


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """How often the streams have died of late, and when they may be started again."""

    failures: int = 0
    """Deaths in a row, each soon after its start."""

    counted_run: str | None = None
    """The last ended run that `failures` takes account of."""

    not_before: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A process that was asked to end (SIGTERM)."""

    process: ProcessId
    at: float
    is_at_fault: bool = True
    """Whether something is wrong with it; its code may just be older."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sighting:
    """Since when an unfinished run has been seen in its phase."""

    run_id: str
    phase: Phase
    since: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """All that is carried from one decision to the next."""

    boot: str = ""
    """The boot whose clock the times are by."""

    backoff: Backoff = Backoff()
    asked: Asked | None = None
    writer: tuple[str, float] | None = None
    """The mark of who writes from elsewhere, and since when it has been the same."""

    sightings: tuple[Sighting, ...] = ()
    """Of the runs that were unfinished at the last look."""

    def see(self, runs: Iterable[RunFact], now: float) -> Self:
        """The memory after a look at all unfinished runs."""
        before = {(seen.run_id, seen.phase): seen for seen in self.sightings}
        sightings = tuple(
            before.get((run.run_id, run.phase))
            or Sighting(run_id=run.run_id, phase=run.phase, since=now)
            for run in runs
        )
        return replace(self, sightings=sightings)

    def watch(self, mark: str, now: float) -> Self:
        """The memory after a look at who writes from elsewhere."""
        is_same = self.writer is not None and self.writer[0] == mark
        return self if is_same else replace(self, writer=(mark, now))

    def writer_age_s(self, now: float) -> float:
        """For how long who writes from elsewhere has renewed nothing."""
        return 0.0 if self.writer is None else now - self.writer[1]

    def age_s(self, run_id: str, now: float) -> float:
        """For how long a run has been seen in its phase; 0 if it was not.

        Records have times of the wall clock, so how old a run looks by them depends on who set it.
        """
        return max(
            (now - seen.since for seen in self.sightings if seen.run_id == run_id), default=0
        )

    def to_json(self) -> str:
        """The memory as text."""
        return _MEMORY.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str | None, *, boot: str) -> Self:
        """Read a memory back; one that is missing or of another version starts afresh.

        Of one from before a reboot only the count of deaths is left: its times are over.
        """
        try:
            memory = _MEMORY.validate_json(text or "")
        except ValidationError:
            return cls(boot=boot)
        if memory.boot == boot:
            return cls(
                boot=boot,
                backoff=memory.backoff,
                asked=memory.asked,
                writer=memory.writer,
                sightings=memory.sightings,
            )
        return cls(boot=boot, backoff=replace(memory.backoff, not_before=0.0))


_MEMORY = TypeAdapter(Memory)
