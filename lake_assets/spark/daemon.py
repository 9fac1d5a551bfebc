"""PySpark's daemon, whose workers have imported what tasks need, and end in silence.

Spark starts this as `python -m lake_assets.spark.daemon pyspark.worker` and lets it fork a worker
for each task that finds none idle; it lets go of those that were idle for a minute. Importing what
every task of ours imports costs 1.2 s of CPU, most of what a small batch costs in all, so that it
is done once, before the first fork. What starts threads as it is imported (NumPy's OpenBLAS, the
jemalloc of pyarrow and of deltalake) starts them anew, or does without, in a forked process. After
each task PySpark looks at all objects for garbage; what was there before the fork it leaves out.

Spark closes the connection of a worker that it lets go of. The worker's last words then find
nobody, which a Unix socket tells at once, and PySpark's own daemon prints that as a failure.
"""

import gc
import importlib
import os
import socket

import numpy as np
from pyspark import daemon

_OF_EVERY_TASK = (
    "deltalake",
    "lake_assets.model.feeds",
    "lake_assets.settings.schema",
    "pandas",
    "pyarrow.compute",
    "pyarrow.parquet",
)
"""By name; none makes a thread pool or opens a connection as it is imported.

PyArrow imports pandas whenever it makes an array of Python's values.
"""

_GONE = 1
"""A worker's exit code that is not 0 makes the daemon wait for the end of its connection."""

_serve = daemon.worker


def serve(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001 - PySpark's signature
    """Do one task's work for whoever is at the other end; PySpark's exit code of the worker."""
    try:
        return _serve(sock, authenticated)
    except BrokenPipeError:
        return _GONE


def prepare_workers() -> None:
    """Import what all of them need; each that is forked then draws random numbers of its own."""
    for needed in _OF_EVERY_TASK:
        importlib.import_module(needed)
    os.register_at_fork(after_in_child=np.random.seed)
    gc.freeze()


if __name__ == "__main__":
    prepare_workers()
    daemon.worker = serve
    daemon.manager()
