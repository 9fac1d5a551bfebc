import subprocess
import sys

import psutil

from lake_assets.metrics.processes import ROLES, memory_by_role


def test_what_this_process_has_started_is_counted_beside_it():
    before = memory_by_role()
    code = "held = bytearray(80_000_000); print(flush=True); input()"
    with subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as worker:
        worker.stdout.readline()
        after = memory_by_role()
        worker.communicate("\n")
    assert set(after) == set(ROLES)
    assert after["python_workers"] - before["python_workers"] >= 80_000_000
    assert 0 < after["driver"] <= psutil.Process().memory_info().vms
