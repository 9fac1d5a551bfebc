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

    lags_s: Mapping[str, float] = field(default_factory=dict)
    """By feed, seconds that it was behind its source when that last answered."""

    states: Mapping[str, Told] = field(default_factory=dict)
    """By feed, in which state its stream is, and since when it has been seen so."""

    told: Mapping[str, Told] = field(default_factory=dict)
    """By what it is about: an asset, or its check."""

    def is_look_due(self, feed: str, now: float, every_s: float) -> bool:
        """Whether a feed's source is to be asked now."""
        return now - self.looked_at.get(feed, -every_s) >= every_s

    def looked(self, feed: str, now: float, ends: History, lag_s: float | None) -> Self:
        """The memory after a look at a feed's source; `lag_s` is None if it did not answer."""
        lags_s = {name: seconds for name, seconds in self.lags_s.items() if name != feed}
        return replace(
            self,
            looked_at={**self.looked_at, feed: now},
            ends={**self.ends, feed: ends},
            lags_s=lags_s if lag_s is None else {**lags_s, feed: lag_s},
        )

    def lag_s(self, feed: str) -> float | None:
        """Seconds that a feed was behind its source at the last look; None if nobody knows."""
        return self.lags_s.get(feed)

    def stands(self, feed: str, state: str, now: float) -> tuple[Self, float]:
        """The memory after a feed's stream was seen in a state, and for how long it has been."""
        before = self.states.get(feed)
        if before is not None and before.what == state:
            return self, now - before.at
        return replace(self, states={**self.states, feed: Told(what=state, at=now)}), 0.0

    def is_due(self, about: str, what: str, now: float, *, is_repeated: bool = True) -> bool:
        """Whether something is to be told now: it has changed, or, if it is repeated, is old."""
        last = self.told.get(about)
        if last is None or last.what != what:
            return True
        return is_repeated and now - last.at >= RAREST_S

    def tell(self, about: str, what: str, now: float) -> Self:
        """The memory after something was told."""
        return replace(self, told={**self.told, about: Told(what=what, at=now)})

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
        return memory if isinstance(memory, cls) else cls(boot=boot)


_MEMORY = TypeAdapter(ObserverMemory)
