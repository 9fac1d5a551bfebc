"""What a process is known by to others; finding and asking it is `runtime.processes`'s."""

from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessId:
    """What tells a process from every other, also from one that gets its pid later."""

    boot: str
    """As `runtime.processes.boot_id`."""

    pid: int
    start: str
    """When it started, by the kernel; to be compared, not read."""

    def __str__(self) -> str:
        """One word, which `parse` reads."""
        return f"{self.boot}/{self.pid}/{self.start}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The process that `str` wrote down; None if the text is something else."""
        boot, _, rest = text.partition("/")
        pid, _, start = rest.partition("/")
        return cls(boot=boot, pid=int(pid), start=start) if pid.isdecimal() and start else None
