"""Whether the wall clock was set back since a query was started.

Spark waits for its next trigger by the wall clock: set back by an hour, a query does nothing for
that hour, and looks as one that has nothing to do. Started again, it goes on at once.
"""

import time
from collections.abc import Callable

_STEP_S = 1.0
"""What is less delays one trigger by as much. Clocks that are slewed lose at most half a
millisecond a second: between two looks, of which a long batch may be, they lose less."""


class ClockSteps:
    """Of one query; look often."""

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look for the first time."""
        self._wall, self._steady = wall, steady
        self._ahead = self._difference()
        self._back = False

    def went_back(self) -> bool:
        """Look again; whether the clock was set back at this look or at one before."""
        ahead = self._difference()
        self._back = self._back or ahead < self._ahead - _STEP_S
        self._ahead = ahead
        return self._back

    def _difference(self) -> float:
        return self._wall() - self._steady()
