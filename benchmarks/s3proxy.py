"""A server that speaks S3, in memory: S3Proxy, as a process of its own on a free port."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.fetched_jar import fetched_jar
from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.jars import Artifact
from lake_assets.runtime.java import find_java
from lake_assets.settings.schema import RuntimeSettings

JAR = Artifact(
    group="s3",
    name="s3proxy-2.9.0-jar-with-dependencies.jar",
    sha256="238f813ff9d6d295273f809f383d31307d88d8f56acc40109b68a5d49186a0eb",
    size=40_602_250,
)

_SETTINGS = """
s3proxy.authorization=none
s3proxy.endpoint=http://127.0.0.1:0
jclouds.provider=transient
jclouds.identity=local
jclouds.credential=local
"""
"""Files are in memory. Of `transient-nio2`, the other way, lists fail while a file is put (400)."""

_JVM = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-DLOG_LEVEL=warn")

_STARTS_WITHIN_S = 120


@contextmanager
def run_s3proxy(settings: RuntimeSettings, *, memory: str = "768m") -> Iterator[str]:
    """Its address until the end of the block.

    Raises:
        RuntimeSetupError: it cannot be had, or does not start.
    """
    java = find_java(settings.cache).executable
    with tempfile.TemporaryDirectory(prefix="s3proxy-") as place:
        told = Path(place) / "s3proxy.conf"
        told.write_text(_SETTINGS)
        jar = fetched_jar(settings, JAR, "store")
        command = [java, f"-Xmx{memory}", *_JVM, "-jar", jar, "--properties", told]
        with subprocess.Popen(  # noqa: S603 - our own command line
            [str(part) for part in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as server:
            try:
                yield f"http://127.0.0.1:{_port_of(server)}"
            finally:
                server.kill()


def _port_of(server: "subprocess.Popen[bytes]") -> int:
    deadline = time.monotonic() + _STARTS_WITHIN_S
    while time.monotonic() < deadline and server.poll() is None:
        for connection in psutil.Process(server.pid).net_connections(kind="tcp"):
            if connection.status == psutil.CONN_LISTEN:
                return int(connection.laddr.port)
        time.sleep(0.1)
    fact = f"does not start (exit code {server.poll()})"
    raise RuntimeSetupError("S3Proxy", fact, "Look whether a port and 1 GB of memory are free")
