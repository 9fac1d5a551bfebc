"""All that runs of a venue: servers, the proxy before them, a cluster, and who keeps the streams.

`disk`: the lake is in a folder; `s3`: in a bucket; `cluster`: in a bucket, with Spark's work done
by a standalone cluster. The streams are `lake-assets stream`, started again whenever it ends, or on
`disk`, if Dagster is asked for, what Dagster's supervisor starts.
"""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import psutil

from benchmarks.standalone import Cluster
from faults.clock import Clock
from faults.dagster_processes import CODE_SERVER
from faults.disk import Disk
from faults.kept import Kept
from faults.lake import store_options
from faults.places import Place, in_bucket, on_disk
from faults.process_table import PART, RUN, SERVER, WORK, by_role, role_of, started
from faults.servers import Server
from faults.toxic_proxy import Address, ToxicProxy
from lake_assets.errors import StreamError
from lake_assets.runtime.command_line import command_line
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings

Venue = Literal["disk", "s3", "cluster"]

VENUES: tuple[Venue, ...] = ("disk", "s3", "cluster")

ROOT = Path(__file__).parents[1]

WORKERS, CORES = 2, 2
"""Of a cluster, and of each of them. An application gets half of all, so that work beside the
streams has executors, too."""

_OF_APPLICATIONS = {"executor", "python worker"}
"""The cluster's workers start these, whose mark they have; they end with who asked for them."""

_ENDS_WITHIN_S = 120.0
"""For streams that are told to end: they finish the batch in hand."""


_LEFT_FOR_S = 20.0
"""For what is about to end by itself."""


class Log:
    """Lines of the run, with the second they were said in, shown and kept."""

    def __init__(self, path: Path) -> None:
        """Begin."""
        self._path, self._began = path, time.monotonic()

    def __call__(self, line: str) -> None:
        """Note a line."""
        text = f"{time.monotonic() - self._began:7.1f} {line}\n"
        sys.stderr.write(text)
        with self._path.open("a") as file:
            file.write(text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a stack is asked to be."""

    venue: Venue
    folder: Path
    run: str
    """Marks its processes."""

    seed: int
    dagster: bool = False


@dataclass(kw_only=True, slots=True)
class Stack:
    """A `System` that runs."""

    asked: Asked
    settings: Settings
    servers: Mapping[str, Server]
    proxy: ToxicProxy
    kept: list[Kept]
    cluster: Cluster | None
    disk: Disk | None
    clock: Clock | None
    say: Log
    keeps_young: bool = False
    """Whether maintenance could not be made to take files for old."""

    @property
    def environment(self) -> Mapping[str, str]:
        """For children."""
        return environment_of(self.settings, self.asked.run)

    @property
    def state_dir(self) -> Path:
        """Where streams keep what is not in the lake."""
        return self.settings.state_dir

    @property
    def lake(self) -> str:
        """The lake's folder, or its address."""
        return str(self.settings.lake_root)

    @property
    def addresses(self) -> Mapping[str, Address]:
        """Where servers really listen."""
        found = {role: server.address for role, server in self.servers.items()}
        if self.cluster is not None:
            host, _, port = self.cluster.master.removeprefix("spark://").partition(":")
            found["spark"] = (host, int(port))
        return found

    @property
    def place(self) -> Place:
        """The lake, as eyes see it that do not go through the proxy."""
        if "store" in self.servers:
            return in_bucket(self.lake, store_options(self.addresses["store"]))
        return on_disk(self.lake)

    @property
    def roles(self) -> frozenset[str]:
        """What can be killed and paused here."""
        found = {"stream", "jvm", "python worker", *self.servers}
        if self.cluster is not None:
            found |= {"spark master", "spark worker", "executor"}
        found |= {one.name for one in self.kept} - {"streams"}
        return frozenset(found)

    def processes(self) -> Mapping[str, list[int]]:
        """What runs now, by role."""
        return by_role(self.asked.run)

    def log(self, line: str) -> None:
        """Note a line in the run's log."""
        self.say(line)

    def restore(self, role: str) -> None:
        """Have what plays a role run again, where nobody else sees to that."""
        if role in self.servers:
            self.servers[role].start()
        if self.cluster is None:
            return
        if role == "spark master" and not self.cluster.lives("master"):
            self.cluster.start_master()
        if role == "spark worker":
            for number in range(1, WORKERS + 1):
                if not self.cluster.lives(f"worker{number}"):
                    self.cluster.start_worker(number, cores=CORES)

    def start(self) -> None:
        """Start the streams, and see to them from now on."""
        for one in self.kept:
            one.start()

    def end_streams(self) -> None:
        """Ask the streams to end, and who supervises them first.

        Raises:
            StreamError: they do not, or leave something behind.
        """
        for one in reversed(self.kept):
            if one.name == CODE_SERVER:
                # Runs go on where their code server was killed; nobody starts new ones now.
                self._end_runs()
            one.end(within_s=_ENDS_WITHIN_S)

    def _end_runs(self) -> None:
        runs = []
        for pid in self.processes().get("stream", []):
            with suppress(psutil.NoSuchProcess):
                runs.append(psutil.Process(pid))
                runs[-1].terminate()
        _, left = psutil.wait_procs(runs, timeout=_ENDS_WITHIN_S)
        if left:
            fact = f"did not end within {_ENDS_WITHIN_S:.0f} s of SIGTERM: {left}"
            raise StreamError("the streams' run", fact, "See the logs of Dagster")

    def orphans(self) -> list[str]:
        """What lives of the streams and of the work beside them, once both have ended."""
        own = {pid for server in self.servers.values() for pid in server.pids}
        deadline = time.monotonic() + _LEFT_FOR_S
        while True:
            left = [
                one
                for one in started(self.asked.run)
                if one.pid not in own
                and (one.part != SERVER or role_of(one.command) in _OF_APPLICATIONS)
            ]
            if not left or time.monotonic() > deadline:
                return [f"{one.pid} of {one.part}: {one.command[:200]}" for one in left]
            time.sleep(0.5)

    def command(
        self, *arguments: str, within_s: float, before: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run `lake-assets` beside the streams to its end; what it says is kept.

        Args:
            arguments: its own.
            within_s: is killed then.
            before: words before it, such as a program that starts it.

        Raises:
            subprocess.TimeoutExpired: it takes longer.
        """
        done = subprocess.run(  # noqa: S603 - our own
            [*before, *command_line(*arguments)],
            env={**self.environment, PART: WORK},
            cwd=self.asked.folder,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )
        with (self.asked.folder / "work.log").open("a") as kept:
            kept.write(f"$ lake-assets {' '.join(arguments)}\n{done.stdout}{done.stderr}\n")
        return done


def environment_of(settings: Settings, run: str) -> dict[str, str]:
    """A child's: settings, the package, and the run's mark."""
    return {**child_environment(settings), "PYTHONPATH": str(ROOT), RUN: run}
