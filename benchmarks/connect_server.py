"""A Spark Connect server in a process of its own, with the other peers' properties."""

import os
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyspark
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from lake_assets.errors import StreamError

_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_START_S = 120.0
_HOST = "127.0.0.1"


@contextmanager
def connect_server(folder: Path, env: Mapping[str, str], master: str) -> Iterator[str]:
    """The server's URL, while it runs.

    Args:
        folder: where it works, and leaves its log, `server.log`.
        env: its environment, with the properties in `SPARK_CONF_DIR`.
        master: as which Spark runs.

    Raises:
        StreamError: it did not start.
    """
    port = _free_port()
    script = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    own = {
        "spark.connect.grpc.binding.address": _HOST,
        "spark.connect.grpc.binding.port": str(port),
    }
    told = [word for name, value in own.items() for word in ("--conf", f"{name}={value}")]
    log = folder / "server.log"
    with (
        log.open("w") as lines,
        subprocess.Popen(  # noqa: S603 - our own command line
            [str(script), "--master", master, *told, "--class", _CLASS, "spark-internal"],
            cwd=folder,
            env=env,
            stdout=lines,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            for attempt in Retrying(
                retry=retry_if_exception_type(OSError),
                stop=stop_after_delay(_START_S),
                wait=wait_fixed(0.2),
                reraise=True,
            ):
                with attempt:
                    _reach(process, port, log)
            yield f"sc://{_HOST}:{port}"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)


def _reach(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    if process.poll() is not None:
        fact = f"ended with {process.returncode} before it took connections"
        raise StreamError("Spark Connect's server", fact, f"Look into {log}")
    socket.create_connection((_HOST, port), 1).close()


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((_HOST, 0))
        return int(found.getsockname()[1])
