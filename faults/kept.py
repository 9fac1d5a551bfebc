"""A process that is started again whenever it ends, as a service manager does with a service."""

import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from faults.process_table import PART
from lake_assets.errors import StreamError

_PAUSE_S = 1.0
"""Before a start that follows an end; systemd's default is a tenth of it."""


class Kept:
    """It runs from `start` to `end`, whatever becomes of it between."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        log: Callable[[str], None],
    ) -> None:
        """Know how; nothing is started yet."""
        self.name, self.starts = name, 0
        self._command, self._environment = [*command], {**environment, PART: name}
        self._folder, self._say = folder, log
        self._ending = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._keep, name=f"keeps {name}", daemon=True)

    def start(self) -> None:
        """Start it, and see to it from now on."""
        self._thread.start()

    def end(self, *, within_s: float) -> None:
        """Ask it to end, as `systemctl stop` does.

        Raises:
            StreamError: it does not; it was killed then, with all below it.
        """
        self._ending.set()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(within_s)
            except subprocess.TimeoutExpired as problem:
                self._kill(process.pid)
                fact = f"did not end within {within_s:.0f} s of SIGTERM"
                raise StreamError(self.name, fact, f"See {self.output}") from problem
            finally:
                self._thread.join(10)

    def kill(self) -> None:
        """End it and what it started, whether it likes to or not."""
        self._ending.set()
        if self._process is not None and self._process.poll() is None:
            self._kill(self._process.pid)

    @property
    def output(self) -> Path:
        """What it says."""
        return self._folder / f"{self.name.replace(' ', '-')}.log"

    def _keep(self) -> None:
        while not self._ending.is_set():
            with self.output.open("ab") as output:
                self._process = subprocess.Popen(  # noqa: S603 - our own
                    self._command,
                    cwd=self._folder,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    process_group=0,
                )
            self.starts += 1
            code, began = self._process.wait(), time.monotonic()
            if not self._ending.is_set():
                self._say(f"{self.name} ended with code {code}; it is started again")
            self._ending.wait(max(0.0, _PAUSE_S - (time.monotonic() - began)))

    @staticmethod
    def _kill(pid: int) -> None:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            for one in (*process.children(recursive=True), process):
                with suppress(psutil.NoSuchProcess):
                    one.kill()
