"""Memory of this process and all that it has started: the driver, Spark's JVM, Python workers."""

from collections.abc import Mapping

import psutil

ROLES = ("driver", "jvm", "python_workers")
"""What processes are counted as: this one, Java, all others."""


def memory_by_role() -> Mapping[str, int]:
    """Bytes by role. Pages that processes share are counted once, where the system tells."""
    own = psutil.Process()
    found = dict.fromkeys(ROLES, 0)
    for process in [own, *own.children(recursive=True)]:
        try:
            name, size = process.name(), _bytes_of(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            continue  # it ended just now
        role = "jvm" if name.startswith("java") else "python_workers"
        found["driver" if process == own else role] += size
    return found


def _bytes_of(process: psutil.Process) -> int:
    info = process.memory_full_info()
    return int(getattr(info, "pss", info.rss))
