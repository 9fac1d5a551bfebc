"""A Spark standalone cluster of pyspark's own jars: processes of a master and of workers.

Each has a folder of its own for its work, its HOME and its temporary files, hardly any environment,
and a loopback address of its own, so that to Spark they are different machines.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from json import JSONDecodeError
from pathlib import Path
from typing import Any

import httpx
import psutil
import pyspark

from lake_assets.demo.dagster_dev import free_port
from lake_assets.runtime.java import Java

SPARK = Path(pyspark.__file__).parent


class Cluster:
    """A master and its workers, by number."""

    def __init__(
        self,
        java: Java,
        folder: Path,
        jvm: Sequence[str],
        more: Mapping[str, str],
        *,
        recovers: bool,
    ) -> None:
        """Know where; nothing is started yet. See `run_cluster`."""
        self._java, self._jvm, self._recovers = java, jvm, recovers
        self._more = more
        self._folder = folder
        self._port, self._page = free_port(0), free_port(0)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def master(self) -> str:
        """As `LAKE_ASSETS_SPARK_MASTER`."""
        return f"spark://127.0.0.1:{self._port}"

    def start_master(self) -> None:
        """Start it, or start it again: it knows what there was, if it recovers."""
        recovery = [
            f"-Dspark.deploy.recoveryDirectory={self._folder / 'recovery'}",
            "-Dspark.deploy.recoveryMode=FILESYSTEM",
        ]
        self._start(
            "master",
            [
                *(recovery if self._recovers else ()),
                "-Dspark.master.rest.enabled=false",
                "org.apache.spark.deploy.master.Master",
                *("--host", "127.0.0.1", "--port", str(self._port)),
                *("--webui-port", str(self._page)),
            ],
        )

    def start_worker(self, number: int, *, cores: int = 1) -> None:
        """Start a worker."""
        host = f"127.0.0.{1 + number}"
        self._start(
            f"worker{number}",
            [
                "org.apache.spark.deploy.worker.Worker",
                *("--host", host, "--webui-port", "0", "--cores", str(cores), "--memory", "2g"),
                *("--work-dir", str(self.work(number)), self.master),
            ],
        )

    def work(self, number: int) -> Path:
        """Where a worker's executors run."""
        return self._folder / f"worker{number}" / "work"

    def kill(self, name: str) -> None:
        """Kill the master, or a worker with its executors, as a machine does that loses power."""
        process = self._processes.pop(name)
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        process.kill()
        process.wait()

    def lives(self, name: str) -> bool:
        """Whether the master, or a worker, was started and has not ended."""
        process = self._processes.get(name)
        return process is not None and process.poll() is None

    @property
    def workers(self) -> tuple[int, ...]:
        """The pids of the workers, whose children executors are."""
        return tuple(process.pid for name, process in self._processes.items() if name != "master")

    def executors(self, number: int) -> list[psutil.Process]:
        """The executors of a worker."""
        found = psutil.Process(self._processes[f"worker{number}"].pid).children()
        return [one for one in found if _is_executor(one)]

    def wait_for_workers(self, count: int, *, within_s: float = 180) -> None:
        """Wait until the master has so many that are alive."""
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            # A page that begins answers in HTML.
            with suppress(httpx.HTTPError, JSONDecodeError):
                told = self.told()
                if told["status"] == "ALIVE" and told["aliveworkers"] == count:
                    return
            time.sleep(0.2)
        raise TimeoutError(f"no {count} workers")

    def told(self) -> dict[str, Any]:
        """What the master's page says: `aliveworkers`, `activeapps` and more."""
        answer = httpx.get(f"http://127.0.0.1:{self._page}/json/", trust_env=False)
        found: dict[str, Any] = answer.json()
        return found

    def end(self) -> None:
        """Kill all there is."""
        for name in [*self._processes]:
            self.kill(name)

    def _start(self, name: str, arguments: list[str]) -> None:
        place = self._folder / name
        for folder in ("home", "tmp", "cwd"):
            (place / folder).mkdir(parents=True, exist_ok=True)
        with (place / "log").open("ab") as log:
            self._processes[name] = subprocess.Popen(  # noqa: S603 - Spark's own
                [
                    str(self._java.executable),
                    *("-cp", f"{SPARK / 'jars'}/*", "-Xmx192m", *self._jvm),
                    f"-Djava.io.tmpdir={place / 'tmp'}",
                    *arguments,
                ],
                cwd=place / "cwd",
                env={
                    "HOME": str(place / "home"),
                    "TMPDIR": str(place / "tmp"),
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "JAVA_HOME": str(self._java.home),
                    "SPARK_HOME": str(SPARK),
                    "SPARK_SCALA_VERSION": "2.13",
                    "SPARK_LOCAL_DIRS": str(place / "tmp"),
                    **self._more,
                },
                stdout=log,
                stderr=log,
            )


def _is_executor(process: psutil.Process) -> bool:
    """Whether it is one, and lives."""
    with suppress(psutil.NoSuchProcess):
        return "CoarseGrainedExecutorBackend" in " ".join(process.cmdline())
    return False


@contextmanager
def run_cluster(  # noqa: PLR0913 - all of a cluster
    java: Java,
    folder: Path,
    *,
    workers: int = 2,
    cores: int = 1,
    jvm: Sequence[str] = ("-XX:+UseSerialGC",),
    recovers: bool = True,
    more: Mapping[str, str] | None = None,
) -> Iterator[Cluster]:
    """A cluster until the end of the block.

    Args:
        java: runs it.
        folder: its own; deleted at the end.
        workers: how many are there at first.
        cores: of each of them.
        jvm: options of the master's and the workers' Java; executors have the application's.
        recovers: whether a master that starts again knows what there was.
        more: further variables of all its processes.
    """
    cluster = Cluster(java, folder, jvm, more or {}, recovers=recovers)
    try:
        cluster.start_master()
        for number in range(1, workers + 1):
            cluster.start_worker(number, cores=cores)
        cluster.wait_for_workers(workers)
        yield cluster
    finally:
        cluster.end()
        shutil.rmtree(folder, ignore_errors=True)
