"""Processes that others know again: by the machine's boot, their pid and the kernel's clock.

No wall clock is in it: a clock that is set changes when a process seems to have been created, and a
pid comes round again after a reboot or on another machine.
"""

import subprocess
from contextlib import suppress
from functools import cache
from pathlib import Path
from platform import node

import psutil

from lake_assets.model.processes import ProcessId

_PROC = Path("/proc")

_START_FIELD = 19
"""Of what stands after the name in `/proc/<pid>/stat`: field 22, clock ticks since the boot."""


@cache
def boot_id(proc: Path = _PROC) -> str:
    """Which boot of which machine this is, and in it, which namespace of pids and of clocks.

    Containers of a machine share its boot, and each may have a process with pid 7.
    """
    with suppress(OSError):
        boot = (proc / "sys/kernel/random/boot_id").read_text().strip()
        return "-".join((boot, *_namespaces(proc)))
    session = _said(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"])  # macOS
    # Where nothing tells one boot from another, a process's start has to.
    return session or node()


def _namespaces(proc: Path) -> list[str]:
    namespaces = []
    for name in ("pid", "time"):
        with suppress(OSError):  # older kernels have no namespaces of clocks
            namespaces.append(str((proc / "self/ns" / name).stat().st_ino))
    return namespaces


def own_process() -> ProcessId:
    """The process that asks."""
    process = process_of(psutil.Process().pid)
    assert process is not None  # noqa: S101 - whoever asks is alive
    return process


def process_of(pid: int, proc: Path = _PROC) -> ProcessId | None:
    """The process that has this pid now; None if none has."""
    start = _start_of(pid, proc)
    return ProcessId(boot=boot_id(proc), pid=pid, start=start) if start else None


def find_process(process: ProcessId) -> psutil.Process | None:
    """A handle on this very process while it lives; None for another one's pid and for a zombie.

    A process of another machine, container or boot is none that could be found here.
    """
    if process.boot != boot_id() or process.pid < 1:
        return None
    with suppress(psutil.NoSuchProcess):
        # The handle first: it refuses to signal a process that takes over the pid after this line.
        handle = psutil.Process(process.pid)
        is_same = _start_of(process.pid, _PROC) == process.start
        if is_same and handle.status() != psutil.STATUS_ZOMBIE:
            return handle
    return None


def is_alive(process: ProcessId) -> bool:
    """Whether this very process lives; a zombie that nobody waits for does not."""
    return find_process(process) is not None


def _start_of(pid: int, proc: Path) -> str | None:
    if not (proc / "stat").exists():
        # The system's own note of the start, which it leaves alone when its clock is set.
        return _said(["/bin/ps", "-o", "lstart=", "-p", str(pid)])
    with suppress(FileNotFoundError, ProcessLookupError):
        # The name may hold spaces, brackets and anything else.
        fields = (proc / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return fields[_START_FIELD].decode()
    return None


def _said(command: list[str]) -> str | None:
    """What a program of the system answers; None if it has nothing to say or is not there."""
    with suppress(OSError):
        # Times in one zone and one language, whoever asks.
        plain = {"TZ": "UTC", "LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, text=True, env=plain, check=False)  # noqa: S603 - our own command
        return done.stdout.strip() or None
    return None
