"""Locks between processes, each on a file: the one way in which they are taken.

They are `flock(2)`'s, on every release alike: the kernel frees one however its holder dies, and
threads of one process exclude each other too. A lock's file stays when it is free: one that was
deleted meanwhile could be locked twice.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

_WITHOUT_END = -1.0


@contextmanager
def lock(path: Path) -> Iterator[None]:
    """Wait until nobody else holds the lock, and hold it while the block runs.

    Raises:
        OSError: the file cannot be opened, or its file system has no locks.
    """
    with _file_lock(path, _WITHOUT_END):
        yield


@contextmanager
def try_lock(path: Path, *, within_s: float = 0.0) -> Iterator[bool]:
    """As `lock`, without waiting for long: tells whether the lock is held now.

    Args:
        path: of the lock's file.
        within_s: how long to try.

    Raises:
        OSError: as `lock`.
    """
    file_lock = _file_lock(path, within_s)
    try:
        file_lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        file_lock.release()


@contextmanager
def shared_lock(path: Path) -> Iterator[None]:
    """Hold a lock together with others who share it, while the block runs; `lock` waits for all.

    Raises:
        OSError: as `lock`.
    """
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield
    finally:
        os.close(handle)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock; looking holds it for some microseconds.

    Raises:
        OSError: as `lock`.
    """
    if not path.exists():
        return False
    with try_lock(path) as was_free:
        return not was_free


def _file_lock(path: Path, timeout_s: float) -> FileLock:
    # Where a file system has no flock, a mark that outlives a killed holder is no lock.
    return FileLock(path, timeout=timeout_s, fallback_to_soft=False)
