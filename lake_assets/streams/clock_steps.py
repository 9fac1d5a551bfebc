"""Whether the wall clock was set back since a query was started.

Spark waits for its next trigger by the wall clock: set back by an hour, a query does nothing for
that hour, and looks as one that has nothing to do. Started again, it goes on at once.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

_STEP_S = 1.0
"""What is less delays one trigger by as much. Clocks that are slewed lose at most half a
millisecond a second: between two looks, of which a long batch may be, they lose less."""


_LOOKS_EVERY_S = 1.0
"""Of a thread that does nothing else: who streams may be busy for all of the time for which a clock
was ahead, and would see no step when it is right again."""


class ClockSteps:
    """Of one query; look often, or have it looked for you."""

    def __init__(
        self,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look for the first time."""
        self._wall, self._steady = wall, steady
        self._lock = threading.Lock()
        self._ahead = self._difference()
        self._back = False

    def went_back(self) -> bool:
        """Look again; whether the clock was set back at this look or at one before."""
        with self._lock:
            ahead = self._difference()
            self._back = self._back or ahead < self._ahead - _STEP_S
            self._ahead = ahead
            return self._back

    @contextmanager
    def watched(self) -> Iterator[Self]:
        """Have a thread look as well, until the end of the block."""
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(_LOOKS_EVERY_S):
                self.went_back()

        thread = threading.Thread(target=look, name="clock steps", daemon=True)
        thread.start()
        try:
            yield self
        finally:
            ended.set()
            thread.join()

    def _difference(self) -> float:
        return self._wall() - self._steady()
