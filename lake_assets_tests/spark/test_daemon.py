import socket
import struct
import subprocess
import sys

import pytest

# PySpark's worker sets signal handlers, which is a matter of a process of its own.
_SERVES = """
import socket, sys
from lake_assets.spark.daemon import serve
connection = socket.socket(fileno=int(sys.argv.pop(2)))
sys.exit(serve(connection, True))
"""


@pytest.fixture(autouse=True)
def as_spark_has_it(monkeypatch):
    """What Spark tells its workers: to end where their last words cannot be said."""
    monkeypatch.setenv("PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE", "1")


def serving(connection):
    """A worker at one end of a connection."""
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", _SERVES, "pyspark.worker", str(connection.fileno())],
        pass_fds=[connection.fileno()],
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_worker_that_spark_has_let_go_of_ends_in_silence():
    here, there = socket.socketpair()
    here.close()
    with serving(there) as process:
        _, said = process.communicate(timeout=60)
    there.close()
    assert said == ""
    assert process.returncode == 1


def test_what_goes_wrong_in_a_task_is_told_to_spark():
    here, there = socket.socketpair()
    with here, here.makefile("rb") as answer, serving(there) as process:
        there.close()
        here.sendall(struct.pack("!ii3s", 1, 3, b"3.0"))  # a partition; a Python too old
        here.shutdown(socket.SHUT_WR)
        told = answer.read()
        _, said = process.communicate(timeout=60)
    assert b"PYTHON_VERSION_MISMATCH" in told
    assert said == ""


_FORKS = """
import os, sys
from lake_assets.spark.daemon import prepare_workers
prepare_workers()
import random, numpy as np
before = set(sys.modules)
for _ in range(2):
    if not os.fork():
        import pyarrow as pa
        rows = pa.table({"a": pa.array([1, 2, None])})
        from lake_assets.model.feeds import Feed
        print(np.random.random(), random.random(), rows.num_rows, flush=True)
        print(*({name.split(".")[0] for name in set(sys.modules) - before}), flush=True)
        os._exit(0)
    os.wait()
"""


def test_a_forked_worker_has_what_tasks_import_and_draws_its_own_random_numbers():
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", _FORKS], capture_output=True, text=True, timeout=60, check=True
    )
    first, imported, second, _ = done.stdout.splitlines()
    assert not {"pandas", "numpy", "deltalake", "lake_assets"} & set(imported.split())
    assert all(a != b for a, b in zip(first.split()[:2], second.split()[:2], strict=True))
    assert first.split()[2] == second.split()[2] == "3"
