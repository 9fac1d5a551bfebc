"""Steps of the wall clock, for the processes of the stream alone.

Done by a small library that they have preloaded (`stepped_clock.c`), compiled when it is needed.
libfaketime, which does the same for single programs, does not do for these (tried with Java 17 and
Python 3.11): of 0.9.10, which Debian and Ubuntu have, `time.sleep` fails (its issue 426); of a
newer one threads read its file into one buffer, and the process ends where they meet; and
`Object.wait` returns at once. Here a step is seen by all threads at the same moment, waits are as
long as they were, and reading the clock costs what it did.

Only the stream's side is stepped: the broker, the registry and the store keep the machine's time,
and so do the times of files.
"""

import shutil
import struct
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random

from faults.fault import Fault
from faults.system import System
from lake_assets.errors import RuntimeSetupError

_SOURCE = Path(__file__).with_name("stepped_clock.c")

_COMPILER = "cc"

_STEPS = (timedelta(seconds=90), timedelta(hours=1), timedelta(days=1))
"""More than a heartbeat may be late; a summer time set by hand; a wrong date."""


class Clock:
    """The wall clock of processes that are started with its `environment`; at first it is right."""

    def __init__(self, folder: Path) -> None:
        """Put what it needs into `folder`, which has to stay as long as the processes live.

        Raises:
            RuntimeSetupError: there is no compiler, or it fails.
        """
        problem = cannot_step()
        if problem is not None:
            raise RuntimeSetupError("clock for faults", problem, "Leave out its faults")
        folder.mkdir(parents=True, exist_ok=True)
        self._library = folder.absolute() / "stepped_clock.so"
        self._ahead = folder.absolute() / "ahead"
        self._ahead.write_bytes(struct.pack("=q", 0))
        _compile(self._library)

    def environment(self) -> Mapping[str, str]:
        """What the processes are started with."""
        return {
            "LD_PRELOAD": str(self._library),
            "LAKE_ASSETS_FAULTS_CLOCK": str(self._ahead),
        }

    def set_ahead(self, ahead: timedelta) -> None:
        """Step the clock, so that it is so far ahead of the machine's; behind if negative."""
        # Over what is there, since the processes have this very file mapped.
        with self._ahead.open("r+b") as file:
            file.write(struct.pack("=q", ahead // timedelta(microseconds=1) * 1000))


@cache
def cannot_step() -> str | None:
    """Why no process here can have a clock of its own, else None."""
    if sys.platform != "linux":
        return "only Linux lets a process have a clock that is preloaded so"
    if shutil.which(_COMPILER) is None:
        return "there is no C compiler (apt-get install gcc libc6-dev)"
    return None


def _compile(library: Path) -> None:
    options = ("-O2", "-Wall", "-Wextra", "-shared", "-fPIC")
    done = subprocess.run(  # noqa: S603 - our own command line
        [_COMPILER, *options, "-o", str(library), str(_SOURCE), "-ldl", "-lpthread"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        said = done.stderr.strip().partition("\n")[0]
        raise RuntimeSetupError(str(_SOURCE), f"does not compile ({said})", "Look at the compiler")


class _ClockFault(ABC):
    """A step of the stream's clock; `clock` is None where the stream has the machine's."""

    name: str

    def __init__(self, clock: Clock | None) -> None:
        self._clock = clock

    def unavailable(self) -> str | None:
        """Why it cannot be done here."""
        if self._clock is None:
            return cannot_step() or "the stream has no clock of its own here"
        return None

    @contextmanager
    def inject(self, system: System, random: Random) -> Iterator[str]:
        """Let the clock be wrong until the end of the block; then it is stepped back."""
        del system
        if self._clock is None:
            raise RuntimeSetupError(self.name, "there is no clock", "Ask `unavailable` first")
        step = random.choice(_STEPS)
        self._clock.set_ahead(self._signed(step))
        try:
            yield f"{self.name} by {step}"
        finally:
            self._clock.set_ahead(timedelta())

    @abstractmethod
    def _signed(self, step: timedelta) -> timedelta:
        """How far ahead the clock is after the step."""


class ClockSetBack(_ClockFault):
    """The clock shows a time that was before."""

    name = "clock of the stream set back"

    def _signed(self, step: timedelta) -> timedelta:
        return -step


class ClockSetForward(_ClockFault):
    """The clock shows a time that is yet to come."""

    name = "clock of the stream set forward"

    def _signed(self, step: timedelta) -> timedelta:
        return step


def clock_faults(clock: Clock | None) -> list[Fault]:
    """Each kind."""
    return [ClockSetBack(clock), ClockSetForward(clock)]
