"""A second server that speaks S3, of other people than moto: S3Proxy, as a process of its own.

It looks whether a file is there and puts it in two steps, so that of two who put one at once both
may be told that they did: `servers` has a front before it that lets them in one by one.
"""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from lake_assets.runtime import ivy
from lake_assets.runtime.cache import cache_dir
from lake_assets.runtime.file_lock import lock
from lake_assets.runtime.jars import Artifact
from lake_assets.runtime.java import find_java
from lake_assets.settings.load import load_settings

_GROUP = "tests"
_JAR = Artifact(
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
"""Files are in memory: ETags are attributes of files, which not every disk has."""

_STARTS_WITHIN_S = 120


def s3proxy_jar() -> Path:
    """The server and all that it needs, fetched into the user's cache if it is not there yet."""
    runtime = load_settings().runtime
    folder = cache_dir(runtime.cache) / _GROUP
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _JAR.name
    with lock(folder / "jar.lock"):
        if _JAR.fits(path):
            return path
        with tempfile.TemporaryDirectory(dir=folder) as staging:
            found = ivy.retrieve(
                (_GROUP,),
                find_java(runtime.cache),
                Path(staging),
                settings=runtime.ivy_settings,
                log=folder / "ivy.log",
                ivy_file=Path(__file__).with_name("ivy.xml"),
            )
            fetched = found / _GROUP / _JAR.name
            assert _JAR.fits(fetched), f"{fetched.name} is not the file it should be"
            fetched.replace(path)
    return path


@contextmanager
def run_s3proxy() -> Iterator[str]:
    """Its address until the end of the block."""
    java = find_java(load_settings().runtime.cache).executable
    quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx768m", "-DLOG_LEVEL=warn")
    with tempfile.TemporaryDirectory(prefix="s3proxy-") as place:
        settings = Path(place) / "s3proxy.conf"
        settings.write_text(_SETTINGS)
        command = [str(java), *quick, "-jar", str(s3proxy_jar()), "--properties", str(settings)]
        with subprocess.Popen(  # noqa: S603 - our own command line
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
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
    raise AssertionError(f"S3Proxy does not start (exit code {server.poll()})")
