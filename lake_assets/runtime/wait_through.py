"""Waiting for what must have ended before whoever waits goes on, whoever interrupts the wait."""

import logging
import os
import threading
from collections.abc import Callable

_LOG = logging.getLogger(__name__)

_INTERRUPTED = 130
"""Exit status of a process that Ctrl-C ended, as shells have it: 128 and the signal's number."""


def wait_through(
    ended: threading.Event,
    *,
    ask: Callable[[], None] = lambda: None,
    still: Callable[[], str] = lambda: "something",
) -> None:
    """Ask for an end and wait for it; an interrupt meanwhile is raised once it is there.

    A signal raises wherever the main thread is: Ctrl-C, a service manager's SIGTERM, Dagster's
    termination of a run. Whoever goes on because of it gives up a lock under which another thread
    still works. So the first interrupt of the wait only has said what is waited for, and a second
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

    def tell() -> None:
        _LOG.warning(
            "not at its end: %s; interrupted once more, this process ends at once, and the next "
            "start finishes or undoes what it was at",
            still(),
        )

    kept: BaseException | None = None
    todo, interrupts = [ask], 0
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
            if interrupts:
                os._exit(_INTERRUPTED)
            kept, interrupts = kept or interrupt, 1
            todo.append(tell)
    if kept is not None:
        raise kept
