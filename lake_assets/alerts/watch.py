"""What the sensor remembers of its own looking, small enough for its cursor. Pure.

Nothing is lost with it: problems and what is still to be delivered are in the `outbox`.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Self

_GAP_S = 120.0
"""Seconds between two looks after which the machine counts as having slept. A look takes up to 20 s
and comes every 10; above minutes a laptop that wakes up alerts to all that slept with it."""

_GOLD_EVERY_S = 60.0
"""Seconds between two looks at gold, each of which opens every table's log: 2-3 ms a table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """When the sensor looked; seconds since 1970."""

    awake_since: float = 0.0
    """Since when it has looked without a gap."""

    last_at: float = 0.0
    gold_at: float = 0.0
    """When it last looked at gold."""

    known_run: str = ""
    """The newest ended run of the streams; its end is no news any more."""

    said: str = ""
    """What it last said about deliveries that failed, so that it need not say so again."""

    def wake(self, now: float, *, loaded_at: float) -> Self:
        """The watch at the start of a look.

        Args:
            now: the time.
            loaded_at: when this process began; nobody looked between the last one and it.
        """
        has_slept = now - self.last_at > _GAP_S or self.awake_since < loaded_at
        return replace(self, awake_since=now) if has_slept else self

    def to_json(self) -> str:
        """The watch as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str | None) -> Self:
        """Read a watch back; one that is missing or of another version starts afresh."""
        try:
            return cls(**json.loads(text or ""))
        except (ValueError, TypeError):
            return cls()


def is_gold_due(
    watch: Watch, now: float, *, grace_s: float, ticks: Iterable[float], is_open: bool
) -> bool:
    """Whether to look at gold: another tick's grace is over, or a missed refresh may be too.

    Args:
        watch: when was looked.
        now: the time.
        grace_s: how long a refresh may take. Whoever wakes up gives that time to catch up, too.
        ticks: each schedule's newest tick whose grace is over.
        is_open: whether some refresh counts as missed.
    """
    if now - watch.awake_since < grace_s or now - watch.gold_at < _GOLD_EVERY_S:
        return False
    return is_open or any(tick + grace_s > watch.gold_at for tick in ticks)
