"""All that runs of a venue: servers, the proxy before them, a cluster, and who keeps the streams.

`disk`: the lake is in a folder; `s3`: in a bucket; `cluster`: in a bucket, with Spark's work done by
a standalone cluster. The streams are `lake-assets stream`, started again whenever it ends, or on
`disk`, if Dagster is asked for, what Dagster's supervisor starts.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from benchmarks.beside import beside
from benchmarks.standalone import Cluster, run_cluster
from faults.dagster_processes import dagster_processes
from faults.disk import Disk, cannot_mount, mounted
from faults.kept import Kept
from faults.lake import BUCKET, in_a_bucket, on_a_cluster, settings_of, store_options
from faults.network import broker_behind
from faults.places import Place, in_bucket, on_disk
from faults.process_table import PART, RUN, WORK, by_role, started
from faults.servers import Server, make_bucket, ports_for, store_service
from faults.toxic_proxy import Address, ToxicProxy
from lake_assets.errors import StreamError
from lake_assets.runtime.command_line import command_line
from lake_assets.runtime.java import Java, find_java
from lake_assets.runtime.setup import ensure_files, ensure_runtime
from lake_assets.services.registry import REGISTRY
from lake_assets.services.service import LOOPBACK
from lake_assets.settings.load import child_environment, load_settings
from lake_assets.settings.schema import Settings

Venue = Literal["disk", "s3", "cluster"]

VENUES: tuple[Venue, ...] = ("disk", "s3", "cluster")

ROOT = Path(__file__).parents[1]

WORKERS = 2

_DISK_BYTES = 4 << 30
"""Of the lake's own disk, in a sparse file."""

_ENDS_WITHIN_S = 120.0
"""For streams that are told to end: they finish the batch in hand."""


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


class Stack:
    """A `System` that runs."""

    def __init__(  # noqa: PLR0913 - all there is
        self,
        asked: Asked,
        settings: Settings,
        servers: Mapping[str, Server],
        proxy: ToxicProxy,
        kept: list[Kept],
        cluster: Cluster | None,
        disk: Disk | None,
        log: Log,
    ) -> None:
        """Know the parts."""
        self.asked, self.settings, self.servers, self.proxy = asked, settings, servers, proxy
        self.kept, self.cluster, self.disk, self._log = kept, cluster, disk, log
        self.environment = environment_of(settings, asked.run)
        self.keeps_young = False
        """Whether maintenance could not be made to take files for old."""

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
        self._log(line)

    def restore(self, role: str) -> None:
        """Have what plays a role run again, where nobody else sees to that."""
        if role in self.servers:
            self.servers[role].start()
        if self.cluster is not None and role == "spark master":
            if not self.cluster.lives("master"):
                self.cluster.start_master()
        if self.cluster is not None and role == "spark worker":
            for number in range(1, WORKERS + 1):
                if not self.cluster.lives(f"worker{number}"):
                    self.cluster.start_worker(number)

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
            one.end(within_s=_ENDS_WITHIN_S)

    def orphans(self) -> list[str]:
        """What lives of what belonged to the streams, once they have ended."""
        own = {pid for server in self.servers.values() for pid in server.pids}
        deadline = time.monotonic() + 20
        while True:
            left = [
                one
                for one in started(self.asked.run)
                if one.pid not in own and one.part not in {WORK, "server"}
            ]
            if not left or time.monotonic() > deadline:
                return [f"{one.pid} of {one.part}: {one.command[:200]}" for one in left]
            time.sleep(0.5)

    def command(
        self, *arguments: str, within_s: float, before: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run `lake-assets` beside the streams to its end.

        Args:
            arguments: its own.
            within_s: is killed then.
            before: words before it, such as a program that starts it.

        Raises:
            subprocess.TimeoutExpired: it takes longer.
        """
        return subprocess.run(  # noqa: S603 - our own
            [*before, *command_line(*arguments)],
            env={**self.environment, PART: WORK},
            cwd=self.asked.folder,
            capture_output=True,
            text=True,
            timeout=within_s,
            check=False,
        )


def environment_of(settings: Settings, run: str) -> dict[str, str]:
    """A child's: settings, the package, and the run's mark."""
    return {**child_environment(settings), "PYTHONPATH": str(ROOT), RUN: run}


@contextmanager
def run_stack(asked: Asked, log: Log) -> Iterator[Stack]:
    """Servers that answer, and streams that are to be started; all is over at the end.

    Raises:
        LakeAssetsError: a part cannot be had, or does not start.
    """
    base = load_settings()
    java = find_java(base.runtime.cache)
    random = Random(asked.seed)  # noqa: S311 - need not be secret
    with ExitStack() as stack:
        proxy = stack.enter_context(ToxicProxy(random))
        roles = ("broker", "registry", *(("store",) if asked.venue != "disk" else ()))
        links = {role: proxy.listen(role) for role in roles}
        disk = None
        if asked.venue == "disk" and cannot_mount() is None:
            disk = stack.enter_context(mounted(asked.folder / "disk", _DISK_BYTES))
        settings = settings_of(
            base, asked.folder, broker=links["broker"], registry=links["registry"]
        )
        if asked.venue != "disk":
            settings = in_a_bucket(settings, store_options(links["store"]))
        servers = _servers(asked, settings, java, links)
        for role, server in servers.items():
            stack.callback(server.end)
            server.start()
            proxy.lead(role, stack.enter_context(_led(asked, role, server)))
        cluster = None
        if asked.venue == "cluster":
            mark = {RUN: asked.run, PART: "server"}
            folder = asked.folder / "cluster"
            cluster = stack.enter_context(run_cluster(java, folder, workers=WORKERS, more=mark))
            settings = on_a_cluster(settings, cluster.master, _path())
        ensure_runtime(settings)
        kept = _kept(asked, settings, log)
        found = Stack(asked, settings, servers, proxy, kept, cluster, disk, log)
        for one in kept:
            stack.callback(one.kill)
        yield found


def _servers(
    asked: Asked, settings: Settings, java: Java, links: Mapping[str, Address]
) -> dict[str, Server]:
    services = {"broker": broker_behind(links["broker"]), "registry": REGISTRY}
    jars = dict(ensure_files(("kafka", "registry"), java, settings))
    if "store" in links:
        services["store"] = store_service(settings.runtime)
    environment = {**child_environment(settings), RUN: asked.run, PART: "server"}
    return {
        role: Server(
            service,
            asked.folder / role,
            java,
            jars.get(service.group, ()),
            ports_for(service),
            environment,
        )
        for role, service in services.items()
    }


def _kept(asked: Asked, settings: Settings, log: Log) -> list[Kept]:
    environment = environment_of(settings, asked.run)
    if asked.dagster:
        return dagster_processes(asked.folder, environment, log)
    return [Kept("streams", command_line("stream"), environment, asked.folder, log)]


@contextmanager
def _led(asked: Asked, role: str, server: Server) -> Iterator[Address]:
    """Where the proxy is to lead to."""
    if role == "broker":
        yield LOOPBACK, server.ports[-1]
    elif role == "store":
        make_bucket(server.ports[0], BUCKET)
        # S3Proxy looks whether a file is there, and then puts it: writes are to come one by one.
        with beside("benchmarks.far_away", asked.folder, server.ports[0], 0.0) as port:
            yield LOOPBACK, port
    else:
        yield server.address


def _path() -> str:
    return os.pathsep.join(filter(None, [str(ROOT), *sys.path]))
