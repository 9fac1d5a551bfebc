"""What the streams talk to, as processes that may die: broker, registry, and a store of objects.

Each keeps its folder and its ports, so that it comes back as it was and where it was. The broker
and the registry are the embedded ones; the store is S3Proxy over a folder, which, unlike the one
in memory that `benchmarks` uses, has after a kill what it had confirmed before.
"""

import re
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import psutil

from benchmarks.beside import beside
from benchmarks.fetched_jar import fetched_jar
from benchmarks.s3proxy import JAR
from faults.toxic_proxy import Address
from lake_assets.demo.dagster_dev import free_port
from lake_assets.errors import ServiceError
from lake_assets.runtime.java import Java
from lake_assets.services.service import LOOPBACK, Ports, Service
from lake_assets.settings.schema import RuntimeSettings

_STARTS_WITHIN_S = 120.0

_LOOKS_EVERY_S = 0.1

_UNFINISHED = re.compile(r".+\.\w+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""What S3Proxy calls a file that is being put, until all of it is there."""

_S3PROXY = """
s3proxy.authorization=none
s3proxy.endpoint=http://{host}:{port}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={folder}
jclouds.identity=local
jclouds.credential=local
"""


class Server:
    """One of them: started, killed by whoever likes to, and started again."""

    def __init__(
        self,
        service: Service,
        folder: Path,
        java: Java,
        jars: tuple[Path, ...],
        ports: Ports,
        environment: Mapping[str, str],
    ) -> None:
        """Know how; nothing is started yet."""
        self.service, self.ports, self.log = service, ports, folder.with_suffix(".log")
        self.front: Address | None = None
        """Where it is better asked, if there is such a place; it ends after the server."""
        self._folder, self._java, self._jars = folder, java, jars
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def address(self) -> Address:
        """Where those find it that do not go through the proxy."""
        return self.front or (LOOPBACK, self.ports[0])

    @property
    def pids(self) -> list[int]:
        """Its process, while it lives."""
        process = self._process
        return [process.pid] if process is not None and process.poll() is None else []

    def start(self) -> None:
        """Have it run and answer; nothing happens if it does.

        Raises:
            ServiceError: it does not answer in time.
        """
        if not self.pids:
            command = self.service.prepare(self._folder, self._java, self._jars, self.ports)
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(  # noqa: S603 - our own
                    command,
                    cwd=self._folder,
                    env=dict(self._environment),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    process_group=0,
                )
        deadline = time.monotonic() + _STARTS_WITHIN_S
        while not self.service.answers(self.ports[0]):
            if not self.pids or time.monotonic() > deadline:
                raise ServiceError(self.service.name, "does not answer", f"See {self.log}")
            time.sleep(_LOOKS_EVERY_S)

    def end(self) -> None:
        """Kill it, if it lives; a process that is stopped by a signal, too."""
        for pid in self.pids:
            with suppress(psutil.NoSuchProcess):
                psutil.Process(pid).kill()
        if self._process is not None:
            self._process.wait()


def ports_for(service: Service) -> Ports:
    """As many free ports as it wants."""
    found: list[int] = []
    while len(found) < service.ports:
        if (port := free_port(0)) not in found:
            found.append(port)
    return tuple(found)


def store_service(runtime: RuntimeSettings) -> Service:
    """S3Proxy over a folder."""
    jar = fetched_jar(runtime, JAR, "store")

    def prepare(folder: Path, java: Java, jars: tuple[Path, ...], ports: Ports) -> list[str]:
        del jars
        objects = folder / "objects"
        objects.mkdir(exist_ok=True)
        # What a kill left half put is no object, and each list would fail by it.
        for path in objects.rglob("*-*"):
            if _UNFINISHED.fullmatch(path.name):
                path.unlink()
        told = folder / "s3proxy.conf"
        told.write_text(_S3PROXY.format(host=LOOPBACK, port=ports[0], folder=objects.absolute()))
        heap = ("-Xmx384m", "-XX:+UseSerialGC", "-DLOG_LEVEL=warn")
        return [str(java.executable), *heap, "-jar", str(jar), "--properties", str(told)]

    return Service(name="store", group="s3", ports=1, prepare=prepare, answers=_store_answers)


def _store_answers(port: int) -> bool:
    with suppress(httpx.HTTPError):
        return httpx.get(f"http://{LOOPBACK}:{port}/", timeout=3, trust_env=False).is_success
    return False


@contextmanager
def store_front(folder: Path, port: int) -> Iterator[Address]:
    """The way to a store that is over a folder, on which it does as S3 does.

    S3Proxy looks whether a file is there, and then puts it; and a list that it makes while a file
    is put or deleted ends there, so that it may say of a table that there is none. Here writes and
    lists come to it one by one.

    Raises:
        StreamError: there is no such way.
    """
    with beside("benchmarks.far_away", folder, port, 0.0, "lists") as front:
        yield LOOPBACK, front


def make_bucket(port: int, name: str) -> None:
    """Have a bucket in the store."""
    url = f"http://{LOOPBACK}:{port}/{name}"
    httpx.put(url, timeout=30, trust_env=False).raise_for_status()
