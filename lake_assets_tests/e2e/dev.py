"""A real `dagster dev`, and eyes on what it started."""

import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil

from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings

ROOT = Path(__file__).parents[2]


def wait_for(
    condition: Callable[[], object], what: str | Callable[[], str], *, within_s: float
) -> None:
    """Look again and again until `condition` holds; `what` says what is waited for, in words."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() >= deadline:
            words = what if isinstance(what, str) else what()
            raise AssertionError(f"after {within_s:.0f} s still not: {words}")
        time.sleep(0.5)  # between two looks; a look may ask a web server


class Dev:
    """Starts and ends `dagster dev` of one home, any number of times."""

    def __init__(self, settings: Settings, home: Path) -> None:
        """Prepare; nothing starts yet."""
        self.home = home
        self.log = home / "dev.log"
        self._environment = child_environment(settings) | {"DAGSTER_HOME": str(home)}
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begins = 0
        self._started: dict[int, psutil.Process] = {}

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The outermost process; leads a group of its own."""
        assert self._process
        return self._process

    def start(self) -> None:
        """Start it, as from a terminal."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        command = [sys.executable, "-m", "dagster", "dev", "-p", str(port)]
        self._log_begins = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - our own command
                command,
                cwd=ROOT,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                process_group=0,
                # A test run in the background ignores SIGINT, and so would its children.
                preexec_fn=_heed_interrupts,  # noqa: PLW1509 - as in the demo
            )

    def new_log(self) -> str:
        """What was logged since the last start."""
        return self.log.read_bytes()[self._log_begins :].decode(errors="replace")

    def terminate_alone(self) -> None:
        """End the outermost process as a service manager would; its runs go on."""
        self.processes()
        self.process.terminate()
        wait_for(lambda: self.process.poll() is not None, "dev gone", within_s=180)

    def kill(self) -> None:
        """End all of it, its runs included, as the kernel may."""
        self.signal_group(signal.SIGKILL)
        self.wait_until_gone(within_s=180)

    def forget(self) -> None:
        """Lose all that Dagster has stored."""
        for path in self.home.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != self.log and path.name != "dagster.yaml":
                path.unlink()

    def processes(self) -> list[psutil.Process]:
        """All living processes that any start has led to, as far as they were ever seen."""
        with suppress(psutil.NoSuchProcess):
            outer = psutil.Process(self.process.pid)
            found = [outer, *outer.children(recursive=True)]
            self._started |= {process.pid: process for process in found}
        return [process for process in self._started.values() if _lives(process)]

    def signal_group(self, number: signal.Signals) -> None:
        """What a terminal does on Ctrl-C, or the kernel in the worst case."""
        self.processes()
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def wait_until_gone(self, *, within_s: float) -> None:
        """Nothing that was ever started may be left."""
        wait_for(
            lambda: self.process.poll() is not None and not self.processes(),
            lambda: f"all processes gone: {self.processes()}\n{self.new_log()[-2000:]}",
            within_s=within_s,
        )


def _heed_interrupts() -> None:
    # A test run in the background ignores SIGINT, and so would its children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
