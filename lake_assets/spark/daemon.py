"""PySpark's daemon, whose workers end in silence when Spark has let go of them.

Spark closes the connection of a worker that was idle for a minute. The worker's last words then
find nobody, which a Unix socket tells at once, and PySpark's own daemon prints that as a failure.
Spark starts this as `python -m lake_assets.spark.daemon pyspark.worker`; it imports next to
nothing, since what is imported here is in every worker, and a thread that it starts would not be.
"""

import socket

from pyspark import daemon

_GONE = 1
"""A worker's exit code that is not 0 makes the daemon wait for the end of its connection."""

_serve = daemon.worker


def serve(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 - PySpark's signature
    """Do one task's work for whoever is at the other end; PySpark's exit code of the worker."""
    try:
        return _serve(sock, authenticated)
    except BrokenPipeError:
        return _GONE


if __name__ == "__main__":
    daemon.worker = serve
    daemon.manager()
