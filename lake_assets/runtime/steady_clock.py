"""A clock that never goes back and goes on while the machine sleeps, the same for all processes.

`time.monotonic` stands still on Linux while a machine is suspended, and whoever wakes would take
what it noted before for new.
"""

import time


def steady_s() -> float:
    """Seconds since some moment of this boot."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()  # elsewhere than on Linux it goes on
