"""Making a lake's files safe from a power cut, many at once.

A write that the system has not put onto the disk is lost with the power, and a log entry may reach
the disk before the file that it names does. One `syncfs` brings all of a file system's changes onto
the disk, which costs a batch of a hundred tables a tenth of an `fsync` a file.
"""

import ctypes
import os
from pathlib import Path

from lake_assets.errors import LakeError
from lake_assets.settings.schema import Durability

_LIBC = ctypes.CDLL(None, use_errno=True)


def flush(lake: Path, durability: Durability) -> None:
    """Return when all that was written below the lake is on the disk; at once for `process`.

    Raises:
        LakeError: the disk does not take it.
    """
    if durability is Durability.PROCESS:
        return
    try:
        folder = os.open(lake, os.O_RDONLY)
        try:
            _sync_file_system(folder)
        finally:
            os.close(folder)
    except OSError as problem:
        raise LakeError(
            str(lake),
            f"what was written does not reach the disk ({problem.strerror})",
            "Check the disk; the batch runs again",
        ) from problem


def sync_file(path: Path) -> None:
    """Return when one file is on the disk; of a folder, when its names are.

    Raises:
        OSError: it is not there, or the disk does not take it.
    """
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sync_file_system(folder: int) -> None:
    """`syncfs(2)`, which Python has no call for; where the system has none, `sync(2)`."""
    if not hasattr(_LIBC, "syncfs"):
        os.sync()
    elif _LIBC.syncfs(folder):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
