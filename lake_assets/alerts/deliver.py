"""Delivering what the outbox holds, within the time that a sensor has."""

import queue
import threading
import time
from collections.abc import Callable, Sequence

from lake_assets.alerts.outbox import Book
from lake_assets.alerts.sinks import Sink
from lake_assets.errors import AlertError
from lake_assets.model.alerts import Alert

_SHARE_S = 4.0
"""Seconds after which a sink gets no further alert in this round. With one message's timeout (5 s
at most) two slow sinks take 18 s of the 60 that Dagster gives a sensor; the rest goes the next
time."""


def deliver(
    book: Book,
    sinks: Sequence[Sink],
    save: Callable[[Book], None],
    *,
    timeout_s: float,
    share_s: float = _SHARE_S,
) -> tuple[Book, tuple[str, ...]]:
    """Hand each sink what waits for it, in order, until it fails or its time is up.

    One that fails does not hold up the others. The book is saved after each alert that was taken.

    Args:
        book: what waits.
        sinks: who takes it.
        save: keeps the book.
        timeout_s: how long a sink may take for one alert.
        share_s: how long a sink is given further alerts.

    Returns:
        The book afterwards, and in words what still waits and why.
    """
    complaints = []
    for sink in sinks:
        ends_at = time.monotonic() + share_s
        reason = "more than one round takes"
        while (letter := book.next_for(sink.name)) and time.monotonic() < ends_at:
            problem = _send(sink, letter.alert, timeout_s)
            if problem is not None:
                reason = problem
                break
            book = book.taken(letter, sink.name)
            save(book)
        if waiting := book.waiting_for(sink.name):
            complaints.append(f"{waiting} alert(s) wait for the sink {sink.name}: {reason}")
    return book, tuple(complaints)


def _send(sink: Sink, alert: Alert, timeout_s: float) -> str | None:
    """What went wrong, in words, or None.

    In a thread of its own: a socket's timeout bounds each of its operations, not all of them, nor
    looking up a name. A sink that is left behind may yet deliver; then the alert comes twice.
    """
    outcome: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def send() -> None:
        try:
            sink.send(alert)
        except BaseException as problem:  # noqa: BLE001 - raised again in the caller's thread
            outcome.put(problem)
        else:
            outcome.put(None)

    threading.Thread(target=send, name=f"alert to {sink.name}", daemon=True).start()
    try:
        problem = outcome.get(timeout=timeout_s)
    except queue.Empty:
        return f"it did not take an alert within {timeout_s:g} s. The alert waits and is sent again"
    if problem is None:
        return None
    if isinstance(problem, AlertError):
        return str(problem)
    raise problem
