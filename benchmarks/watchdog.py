"""A watchdog: ends what hangs, told by its silence."""

import threading
from collections.abc import Callable


class Watchdog:
    """Ends what does not let hear from it for a while."""

    def __init__(self, patience_s: float, bite: Callable[[], None]) -> None:
        """Watch from now on; after so long a silence, `bite` is called once."""
        self._patience_s = patience_s
        self._bite = bite
        self.has_bitten = False
        self._start()

    def heard(self) -> None:
        """It lives: the time begins again."""
        self.rest()
        self._start()

    def rest(self) -> None:
        """It needs no watching any more."""
        self._timer.cancel()

    def _start(self) -> None:
        self._timer = threading.Timer(self._patience_s, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        self.has_bitten = True
        self._bite()
