"""When the run of the streams ends by itself, so that the next one goes on.

A run that never ends cannot be deleted, nor can what Dagster stores of it. It ends only while the
supervisor looks on, since that starts the next one: who turned it off and let the run go on, or
whose daemon is down, keeps the run. Its time counts from its first batch, so that runs that are
shorter than a start of Spark each do something.
"""

import time
from collections.abc import Callable

import dagster as dg

from lake_assets.defs.internals.instigators import has_ticked

SUPERVISOR = "supervisor"
"""The sensor that starts the next run, without the lake's prefix."""

_IDLE_START_S = 600.0
"""Seconds from which on a run's time counts that has had nothing to do yet: by then Spark is up, or
does not come up at all."""

_LOOK_EVERY_S = 10.0
"""Seconds between two looks for the supervisor, once it is time."""

_TICKED_WITHIN_S = 60.0
"""The supervisor ticks every 5 s; sensors beside it may hold it up for longer."""


class Rotation:
    """Tells a run when its time is over, by the monotonic clock of its process.

    That one nobody sets: a clock of the wall that is set ends no run early and keeps none.
    """

    def __init__(
        self,
        instance: dg.DagsterInstance,
        run: dg.DagsterRun,
        *,
        supervisor: str,
        after_h: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look after the run; its time begins with what it does first.

        Args:
            instance: knows of the supervisor.
            run: the run of this process.
            supervisor: the sensor that starts the next run.
            after_h: its time, in hours.
            clock: the time in seconds, from any beginning.
        """
        self._instance = instance
        self._run = run
        self._clock = clock
        self._supervisor = supervisor
        self._after_s = after_h * 3600
        self._begins_at = clock() + _IDLE_START_S
        self._next_look_at = 0.0

    def is_due(self, *, did_something: bool = False) -> bool:
        """Whether the run is to end now; `did_something` begins its time, if that has not begun."""
        if did_something:
            self._begins_at = min(self._begins_at, self._clock())
        if self._clock() < max(self._begins_at + self._after_s, self._next_look_at):
            return False
        self._next_look_at = self._clock() + _LOOK_EVERY_S
        # By the clock of the wall, as Dagster has it. If that is set, the next ticks are by it.
        now = time.time()
        return has_ticked(
            self._instance, self._run, self._supervisor, now=now, within_s=_TICKED_WITHIN_S
        )
