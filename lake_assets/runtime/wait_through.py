"""Waiting for what must have ended before whoever waits goes on, whoever interrupts the wait."""

import threading


def wait_through(ended: threading.Event) -> None:
    """Wait for an event; an interrupt meanwhile is raised once the event is there.

    A signal raises wherever the main thread is: Ctrl-C, a service manager's SIGTERM, Dagster's
    termination of a run. Whoever goes on because of it gives up a lock under which another thread
    still works. An event, and not `Thread.join`: on Python 3.11 a join that is interrupted marks a
    thread as ended that lives, so that a second one returns at once.

    Raises:
        BaseException: the first interrupt, such as `KeyboardInterrupt`.
    """
    interrupt: BaseException | None = None
    while not ended.is_set():
        try:
            ended.wait()
        except BaseException as problem:  # noqa: BLE001 - raised again below
            interrupt = interrupt or problem
    if interrupt is not None:
        raise interrupt
