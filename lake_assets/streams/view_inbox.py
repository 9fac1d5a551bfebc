"""What the thread of a live view is told, in order, until it ends: nobody waits for one that has.

The orders are `streams.view_orders`'.
"""

import queue
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress

from lake_assets.model.reports import Refreshed
from lake_assets.streams.refresh_answers import NotRefreshedHereError
from lake_assets.streams.view_orders import Ask, Last, Nudge, Stop


class ViewInbox:
    """Orders of any thread to one."""

    def __init__(self) -> None:
        """Begin empty, and open."""
        self._orders: queue.SimpleQueue[Nudge | Last | Stop | Ask] = queue.SimpleQueue()
        self._is_closed = False

    def put(self, order: Nudge | Last | Stop) -> None:
        """Tell something that nobody waits for."""
        self._orders.put(order)

    def ask(self, keys: Sequence[str] | None) -> "Future[Refreshed]":
        """Ask for a refresh of keys, all if None; answered at the latest when the inbox closes.

        The answer is then `NotRefreshedHereError`.
        """
        answer: Future[Refreshed] = Future()
        self._orders.put(Ask(keys, answer))
        if self._is_closed:  # looked at after the order is there, so that one of both refuses it
            self._refuse_all()
        return answer

    def next(self, timeout_s: float) -> Nudge | Last | Stop | Ask | None:
        """The next order; None if none comes in time."""
        try:
            return self._orders.get(timeout=max(0.0, timeout_s))
        except queue.Empty:
            return None

    def close(self) -> None:
        """Take no more orders: the thread ends."""
        self._is_closed = True
        self._refuse_all()

    def _refuse_all(self) -> None:
        with suppress(queue.Empty):
            while True:
                order = self._orders.get_nowait()
                if isinstance(order, Ask):
                    order.answer.set_exception(NotRefreshedHereError())
