"""What the supervisor remembers between two looks, small enough for a sensor's cursor. Pure."""

import json
from dataclasses import asdict, dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class Backoff:
    """How often the streams have died of late, and when they may be started again."""

    failures: int = 0
    """Deaths in a row, each soon after its start."""

    counted_run: str | None = None
    """The last ended run that `failures` takes account of."""

    not_before: float = 0.0
    """Seconds since 1970."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """A process that was asked to end (SIGTERM)."""

    pid: int
    process_started_at: float
    at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """All that is carried from one decision to the next."""

    backoff: Backoff = Backoff()
    asked: Asked | None = None

    def to_json(self) -> str:
        """The memory as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> Self:
        """Read a memory back; one that is missing or of another version starts afresh."""
        try:
            found = json.loads(text or "")
            asked = found["asked"]
            return cls(
                backoff=Backoff(**found["backoff"]),
                asked=Asked(**asked) if asked else None,
            )
        except (ValueError, KeyError, TypeError):
            return cls()
