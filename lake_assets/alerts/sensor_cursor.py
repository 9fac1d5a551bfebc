"""What the sensor remembers of its own looking, small enough for its cursor. Pure.

Nothing is lost with it: problems and what is still to be delivered are in the `outbox`.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Self

_GAP_S = 120.0
"""Seconds between two looks after which nobody looked meanwhile. A look takes up to 20 s and comes
every 10; above minutes a laptop that wakes up alerts to all that slept with it."""

_GOLD_EVERY_S = 60.0
"""Seconds between two looks at gold, each of which opens every table's log: 2-3 ms a table."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """When the sensor looked; by the monotonic clock of `boot`, which a sleeping machine stops."""

    boot: str = ""
    awake_since: float = 0.0
    """Since when it has looked without a gap."""

    last_at: float = 0.0
    last_utc: float = 0.0
    """When it last looked by the clock of the wall; seconds since 1970."""

    gold_at: float = -math.inf
    """When it last looked at gold; a tick before this boot is later than never."""

    known_run: str | None = None
    """The newest ended run of the streams, whose end is no news any more; "" if there is none, None
    if the sensor has not looked since it woke up."""

    said: str = ""
    """What it last said about deliveries that failed, so that it need not say so again."""

    def wake(self, now: float, utc_now: float, *, boot: str, loaded_at: float) -> Self:
        """The watch at the start of a look.

        A clock of the wall that was set counts as a sleep: schedules see all ticks in between
        pass at once, too, and need their time for them.

        Args:
            now: the time, by the monotonic clock.
            utc_now: the time, in seconds since 1970.
            boot: whose clock `now` is by.
            loaded_at: when this process began; nobody looked between the last one and it.
        """
        if self.boot != boot:
            return replace(type(self)(), boot=boot, awake_since=now, said=self.said)
        gap_s = now - self.last_at
        is_set_or_slept = abs(utc_now - self.last_utc - gap_s) > _GAP_S
        if gap_s > _GAP_S or is_set_or_slept or self.awake_since < loaded_at:
            return replace(self, awake_since=now, known_run=None)
        return self

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
        now: the time, by the monotonic clock.
        grace_s: how long a refresh may take. Whoever wakes up gives that time to catch up, too.
        ticks: each schedule's newest tick whose grace is over, by that clock.
        is_open: whether some refresh counts as missed.
    """
    if now - watch.awake_since < grace_s or now - watch.gold_at < _GOLD_EVERY_S:
        return False
    return is_open or any(tick + grace_s > watch.gold_at for tick in ticks)
