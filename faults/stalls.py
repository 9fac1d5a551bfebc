"""Freezes a file system again and again for a moment, so that who writes waits; `disk` runs this.

A program of its own, of the standard library alone: it thaws the file system and ends when its
standard input does, also where the one who started it was killed.

Arguments: the mount point, a seed, and in seconds the shortest and longest stall and pause.
"""

import fcntl
import os
import sys
from random import Random
from select import select

_FREEZE, _THAW = 0xC0045877, 0xC0045878
"""FIFREEZE and FITHAW of linux/fs.h."""


def main(point: str, seed: str, *bounds: str) -> None:
    """Stall until standard input ends; then say how often."""
    random = Random(int(seed))  # noqa: S311 - the same stalls each time
    stall_from, stall_to, pause_from, pause_to = map(float, bounds)
    count = 0
    folder = os.open(point, os.O_RDONLY)
    while not _ends_within(random.uniform(pause_from, pause_to)):
        fcntl.ioctl(folder, _FREEZE)
        try:
            count += 1
            is_last = _ends_within(random.uniform(stall_from, stall_to))
        finally:
            fcntl.ioctl(folder, _THAW)
        if is_last:
            break
    print(count)  # noqa: T201 - for the one who started this


def _ends_within(seconds: float) -> bool:
    return bool(select([sys.stdin], [], [], seconds)[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
