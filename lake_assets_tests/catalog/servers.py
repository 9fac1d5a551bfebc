"""Catalogues as processes of their own: Unity's contract, Hive's metastore; Glue is moto's."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pyspark

from lake_assets.demo.dagster_dev import free_port

_PROGRAM = Path(__file__).with_name("unity_server.py")

_API = "/api/2.1/unity-catalog"

_CLIENT = httpx.Client(trust_env=False, timeout=30)
"""Each new one reads the machine's authorities, for a tenth of a second."""


@dataclass(frozen=True)
class Unity:
    """A running server."""

    url: str
    token: str

    def ask(self, method: str, path: str, told: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = _CLIENT.request(method, self.url + _API + path, json=told, headers=headers)
        return answer.raise_for_status().json() if method != "DELETE" else {}

    def refuse(self, method: str, part: str, status: int, code: str, times: int = 1000) -> None:
        """Answer what comes with an error."""
        told = {"method": method, "part": part, "status": status, "code": code, "times": times}
        self._control("refuse", told)

    def forgive(self) -> None:
        """Answer again."""
        self._control("forgive")

    def asked(self) -> list[list[str]]:
        """Method and path of what was asked since this was asked last."""
        found: list[list[str]] = self._control("asked")
        return found

    def _control(self, what: str, told: Any = None) -> Any:
        url = f"{self.url}/_test/{what}"
        return _CLIENT.post(url, json=told).raise_for_status().json()


@contextmanager
def run_unity(token: str = "") -> Iterator[Unity]:
    """A server until the end of the block; it wants the token, if there is one."""
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, str(_PROGRAM), *([token] if token else [])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            yield Unity(f"http://127.0.0.1:{int(server.stdout.readline())}", token)
        finally:
            server.communicate(timeout=30)


_METASTORE = "org.apache.hadoop.hive.metastore.HiveMetaStore"

_HIVE_SITE = """
<configuration>
{}
</configuration>
"""

_HIVE = {
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:metastore;create=true",
    "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
}


@contextmanager
def run_metastore(java: Path, folder: Path) -> Iterator[str]:
    """Hive's own metastore, of the jars that PySpark brings, with a database in memory.

    Args:
        java: the program.
        folder: for its configuration and its warehouse.
    """
    warehouse = folder / "warehouse"
    warehouse.mkdir()
    told = {**_HIVE, "hive.metastore.warehouse.dir": str(warehouse)}
    lines = (
        f"<property><name>{name}</name><value>{value}</value></property>"
        for name, value in told.items()
    )
    (folder / "hive-site.xml").write_text(_HIVE_SITE.format("\n".join(lines)))
    jars, port = Path(pyspark.__file__).parent / "jars", free_port(0)
    selector = "org.apache.logging.log4j.core.selector.BasicContextSelector"
    command = [str(java), "-XX:TieredStopAtLevel=1", f"-Dlog4j2.contextSelector={selector}"]
    place = ["-cp", f"{folder}:{jars}/*", _METASTORE, "-p", str(port)]
    with subprocess.Popen(  # noqa: S603 - PySpark's own
        [*command, *place], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            _await_port(server, port)
            yield f"thrift://127.0.0.1:{port}"
        finally:
            server.kill()


def _await_port(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until and server.poll() is None:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    message = f"the metastore does not listen (it ended with {server.poll()})"
    raise RuntimeError(message)
