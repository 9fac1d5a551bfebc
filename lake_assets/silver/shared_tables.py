"""Turns of the feeds of a process that fill the same tables: columns change while none commits.

A change of columns may rewrite a table's files, and begins anew if rows come meanwhile: another
feed that commits each second would never let it end. Feeds of several processes have no such turns
(`delta.written_columns` tells what they then do).
"""

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from lake_assets.model.feeds import Feed
from lake_assets.model.flows import is_shared


class _Turns:
    """Any number of feeds commit at once; one changes columns, and then none commits."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._committing = 0
        self._is_fitting = False

    @contextmanager
    def commits(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_fitting)
            self._committing += 1
        try:
            yield
        finally:
            with self._changed:
                self._committing -= 1
                self._changed.notify_all()

    @contextmanager
    def fits(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: not self._is_fitting)
            self._is_fitting = True  # who commits from here on waits
            self._changed.wait_for(lambda: not self._committing)
        try:
            yield
        finally:
            with self._changed:
                self._is_fitting = False
                self._changed.notify_all()


_TURNS = _Turns()


def while_it_commits(feed: Feed) -> AbstractContextManager[None]:
    """Held while a feed commits a batch."""
    return _TURNS.commits() if is_shared(feed) else nullcontext()


def while_it_fits(feed: Feed) -> AbstractContextManager[None]:
    """Held while a feed looks at its tables and changes their columns."""
    return _TURNS.fits() if is_shared(feed) else nullcontext()
