"""Waiting for what must have ended before whoever waits goes on, whoever interrupts the wait."""

import logging
import os
import threading
import time
from collections.abc import Callable

_LOG = logging.getLogger(__name__)

_INTERRUPTED = 130
"""Exit status of a process that Ctrl-C ended, as shells have it: 128 and the signal's number."""

_MEANT_AFTER_S = 2.0
"""Seconds after what is waited for was said, from which on an interrupt is an answer to it. Before
nobody has read it, and one Ctrl-C may come several times: from the terminal and from a parent."""


class _Told:
    """What who interrupts was told, and when."""

    def __init__(self, still: Callable[[], str]) -> None:
        self._still = still
        self._at: float | None = None

    def tell(self) -> None:
        """Say what is waited for, the first time."""
        if self._at is None:
            self._at = time.monotonic()
            _LOG.warning(
                "not at its end: %s; interrupted once more, this process ends at once, and the "
                "next start finishes or undoes what it was at",
                self._still(),
            )

    def end_if_meant(self) -> None:
        """End the process, if an interrupt that comes now is an answer."""
        if self._at is not None and time.monotonic() - self._at >= _MEANT_AFTER_S:
            os._exit(_INTERRUPTED)


def wait_through(
    ended: threading.Event,
    *,
    ask: Callable[[], None] = lambda: None,
    still: Callable[[], str] = lambda: "something",
) -> None:
    """Ask for an end and wait for it; an interrupt meanwhile is raised once it is there.

    A signal raises wherever the main thread is: Ctrl-C, a service manager's SIGTERM, Dagster's
    termination of a run. Whoever goes on because of it gives up a lock under which another thread
    still works. So the first interrupt of the wait only has said what is waited for, and a later
    one ends the process then and there, as `kill -9` does: its locks go with its threads.

    An event, and not `Thread.join`: on Python 3.11 a join that is interrupted marks a thread as
    ended that lives, so that a second one returns at once.

    Args:
        ended: what is waited for.
        ask: asks for it; may be called again, if an interrupt came in between.
        still: what is not at its end yet, in words, without a verb.

    Raises:
        BaseException: the first interrupt, such as `KeyboardInterrupt`.
        Exception: what `ask` raised, if that was before.
    """
    kept: BaseException | None = None
    told, todo = _Told(still), [ask]
    while not ended.is_set():
        try:
            while todo:
                todo[0]()
                del todo[0]
            ended.wait()
        except Exception as problem:  # noqa: BLE001 - raised again below
            kept = kept or problem
            del todo[:1]
        except BaseException as interrupt:  # noqa: BLE001 - likewise
            kept = kept or interrupt
            told.end_if_meant()
            todo.append(told.tell)
    if kept is not None:
        raise kept
