"""A question that is asked in a thread of its own, since whoever is asked may never answer."""

import threading
from collections.abc import Callable


class BackgroundQuestion:
    """Asks once; whoever asked looks for the answer now and then."""

    def __init__(self, ask: Callable[[], None]) -> None:
        """Ask.

        Args:
            ask: returns if the answer is yes; raises else.
        """
        self._ask = ask
        self._problem: BaseException | None = None
        # Nobody waits for it at the end: it changes nothing.
        self._thread = threading.Thread(target=self._run, name="question", daemon=True)
        self._thread.start()

    def is_answered(self, within_s: float | None) -> bool:
        """Wait for the answer, for some seconds or as long as it takes; whether it is there."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def ensure(self) -> None:
        """Raise what was raised, if the answer is there and is no."""
        if self._problem is not None:
            raise self._problem

    def _run(self) -> None:
        try:
            self._ask()
        except BaseException as problem:  # noqa: BLE001 - raised again by `ensure`
            self._problem = problem
