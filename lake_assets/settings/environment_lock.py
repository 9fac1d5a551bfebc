"""Keeps whoever sets the environment and native code that reads it apart.

The C library's `environ` has no lock: a variable that is added may move it, and whoever reads it
then reads memory that was freed. Python's readers have a copy; deltalake reads all of it whenever
it opens a table, in whatever thread that is, and a process that sets a variable then may crash.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_setting = threading.RLock()
_read = threading.Condition()
_readers = 0


@contextmanager
def environment_read() -> Iterator[None]:
    """Nobody sets a variable meanwhile; others may read. What is inside must set none."""
    global _readers  # noqa: PLW0603 - a process has one environment
    with _setting, _read:
        _readers += 1
    try:
        yield
    finally:
        with _read:
            _readers -= 1
            _read.notify_all()


@contextmanager
def environment_set() -> Iterator[None]:
    """No other thread reads or sets variables meanwhile, as far as it is said here."""
    with _setting:
        with _read:
            _read.wait_for(lambda: not _readers)
        yield
