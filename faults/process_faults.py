"""Processes that are killed, and such as stand still for a while: `kill -9`, SIGSTOP and SIGCONT.

Which process plays a role is asked at the moment; where several do, chance takes one.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from random import Random

import psutil

from faults.fault import Fault
from faults.system import System
from lake_assets.errors import StreamError

_APPEARS_WITHIN_S = 90.0
"""A role may be between two lives: the last fault has just killed what plays it."""

_DIES_WITHIN_S = 30.0

WORDS = {
    "stream": "the streams' process",
    "jvm": "the streams' JVM",
    "python worker": "a Python worker",
    "spark master": "the cluster's master",
    "spark worker": "a worker of the cluster",
    "executor": "an executor",
    "daemon": "Dagster's daemon",
    "code server": "Dagster's code server",
    "webserver": "Dagster's webserver",
    "broker": "the broker",
    "registry": "the registry",
    "store": "the store",
}
"""The roles, in the words of a report."""


class AbsentError(Exception):
    """Nothing plays the role now."""


class Kill:
    """A process ends at once, and cannot say so to anybody."""

    def __init__(self, role: str) -> None:
        """Of that role."""
        self.name = f"kill -9 of {WORDS[role]}"
        self._role = role

    def unavailable(self) -> str | None:
        """Never: it is our own."""
        return None

    @contextmanager
    def inject(self, system: System, random: Random) -> Iterator[str]:
        """Kill one; the end of the block starts it again, where nobody else does."""
        pid = one_of(self._role, system, random)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        _wait_for_end(pid)
        try:
            yield f"killed {WORDS[self._role]}, {pid}"
        finally:
            system.restore(self._role)


class Pause:
    """A process stands still, as on a machine that is overloaded or was suspended."""

    def __init__(self, role: str) -> None:
        """Of that role."""
        self.name = f"pause of {WORDS[role]}"
        self._role = role

    def unavailable(self) -> str | None:
        """Never: it is our own."""
        return None

    @contextmanager
    def inject(self, system: System, random: Random) -> Iterator[str]:
        """Stop one; the end of the block lets it go on, if nobody has killed it meanwhile."""
        pid = one_of(self._role, system, random)
        os.kill(pid, signal.SIGSTOP)
        try:
            yield f"stopped {WORDS[self._role]}, {pid}"
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
            system.restore(self._role)


def _wait_for_end(pid: int) -> None:
    """A large process dies for a while, and nobody starts again what still is.

    Whoever started it may wait for it all the same: nothing is taken from them.
    """
    deadline = time.monotonic() + _DIES_WITHIN_S
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        while process.status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}:
            if time.monotonic() > deadline:
                raise StreamError(f"process {pid}", "does not end by SIGKILL", "Look at its disk")
            time.sleep(0.01)


def process_faults(roles: frozenset[str]) -> list[Fault]:
    """Both of each role, in an order that does not depend on the set's."""
    return [kind(role) for role in WORDS if role in roles for kind in (Kill, Pause)]


def one_of(role: str, system: System, random: Random) -> int:
    """The process of a role, waited for if there is none.

    Raises:
        AbsentError: nothing comes to play it.
    """
    deadline = time.monotonic() + _APPEARS_WITHIN_S
    while True:
        pids = sorted(system.processes().get(role, []))
        if pids:
            return random.choice(pids)
        if time.monotonic() > deadline:
            raise AbsentError(f"no {role} ran within {_APPEARS_WITHIN_S:.0f} s")
        time.sleep(0.3)
