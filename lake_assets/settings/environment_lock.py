"""Keeps whoever sets the environment and native code that reads it apart.

The C library's `environ` has no lock: a variable that is added may move it, and whoever reads it
then reads memory that was freed. Python's readers have a copy; deltalake reads all of it whenever
it opens a table, in whatever thread that is, and a process that sets a variable then may crash.

An error that a signal's handler raises, wherever it comes, leaves nothing locked: a `Condition`, or
a context manager that counts readers, may be left half-way by one.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

_T = TypeVar("_T")

_LOOK_EVERY_S = 0.005

_setting = threading.RLock()
_readers: set[object] = set()


def reading_environment(make: Callable[[], _T]) -> _T:
    """What `make` returns; nobody sets a variable meanwhile, others may read. It must set none."""
    reader = object()
    try:
        with _setting:
            _readers.add(reader)
        return make()
    finally:
        _readers.discard(reader)


@contextmanager
def environment_set() -> Iterator[None]:
    """No other thread reads or sets variables meanwhile, as far as it is said here."""
    with _setting:
        while _readers:
            time.sleep(_LOOK_EVERY_S)
        yield
