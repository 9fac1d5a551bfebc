"""What a fault is: it begins, says what it did, and ends.

The contract that each kind of fault keeps, whoever wrote it. Which there are is in `catalog`; when
they come, `schedule` decides; what they come to, `system` holds.
"""

from contextlib import AbstractContextManager
from random import Random
from typing import Protocol

from faults.system import System


class Fault(Protocol):
    """One kind of fault; `inject` may be called many times, one after the other."""

    name: str  # e.g. "kill -9 of the stream's JVM"

    def unavailable(self) -> str | None:
        """Why it cannot be done here (a privilege, a missing program), else None."""
        ...

    def inject(self, system: System, random: Random) -> AbstractContextManager[str]:
        """Within the `with` the fault is on; leaving it ends the fault (restart, CONT, heal).

        Yields one line of what exactly was done.
        """
        ...
