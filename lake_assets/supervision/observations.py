"""Which observations of a lake's assets are due, and what is remembered for that. Pure.

What changed is told at once, or as often as sources are looked at; what did not, now and then, so
that a plot over time has no holes. Times are by the monotonic clock of one boot.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from pydantic import TypeAdapter, ValidationError

RAREST_S = 600.0
"""Seconds after which what did not change is told again. Oftener costs Dagster's storage, more
rarely and a plot of an hour has hardly a point."""

History = tuple[tuple[float, int], ...]
"""When a source's end was where."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Told:
    """What was told last of an asset."""

    what: str
    at: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ObserverMemory:
    """All that is carried from one look to the next."""

    boot: str = ""
    """The boot whose clock the times are by."""

    looked_at: Mapping[str, float] = field(default_factory=dict)
    """By feed, when its source was asked last."""

    ends: Mapping[str, History] = field(default_factory=dict)
    """By feed, the ends of its source that the lag in seconds is told by."""

    told: Mapping[str, Told] = field(default_factory=dict)
    """By asset."""

    def is_look_due(self, feed: str, now: float, every_s: float) -> bool:
        """Whether a feed's source is to be asked now."""
        return now - self.looked_at.get(feed, -every_s) >= every_s

    def looked(self, feed: str, now: float, ends: History) -> Self:
        """The memory after a look at a feed's source."""
        return replace(
            self, looked_at={**self.looked_at, feed: now}, ends={**self.ends, feed: ends}
        )

    def is_due(self, asset: str, what: str, now: float) -> bool:
        """Whether something is to be told of an asset now."""
        last = self.told.get(asset)
        return last is None or last.what != what or now - last.at >= RAREST_S

    def tell(self, asset: str, what: str, now: float) -> Self:
        """The memory after something was told of an asset."""
        return replace(self, told={**self.told, asset: Told(what=what, at=now)})

    def to_json(self) -> str:
        """The memory as text."""
        return _MEMORY.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str | None, *, boot: str) -> Self:
        """Read a memory back; one that is missing, of another version or boot starts afresh."""
        try:
            memory = _MEMORY.validate_json(text or "")
        except ValidationError:
            return cls(boot=boot)
        if memory.boot != boot:
            return cls(boot=boot)
        return cls(boot=boot, looked_at=memory.looked_at, ends=memory.ends, told=memory.told)


_MEMORY = TypeAdapter(ObserverMemory)
