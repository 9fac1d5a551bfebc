import os
import subprocess
import sys
import time

from benchmarks.memory import held_by, watch

_HOLDS = """
import subprocess, sys, time
if sys.argv[1] == "parent":
    subprocess.run([sys.executable, __file__, "child"])
else:
    held = b"x" * 100_000_000
    # Seconds in which `watch` looks several times, or those that the test asks for.
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 1.5)
"""


def started(tmp_path, *arguments):
    program = tmp_path / "holds.py"
    program.write_text(_HOLDS)
    return subprocess.Popen([sys.executable, str(program), *arguments])  # noqa: S603 - our own


def test_a_peak_is_of_the_whole_tree_until_its_end(tmp_path):
    with started(tmp_path, "parent") as process:
        found = watch(process.pid, at_most_s=60)
    assert found.is_whole
    assert found.total_bytes > 100_000_000
    assert found.jvm_bytes == 0


def test_what_takes_too_long_is_not_watched_to_its_end(tmp_path):
    began = time.monotonic()
    with started(tmp_path, "child", "60") as process:
        found = watch(process.pid, at_most_s=1)
        process.kill()
    assert not found.is_whole
    assert time.monotonic() - began < 30


def test_what_is_held_now_is_of_this_process_too():
    assert held_by(os.getpid()) > 10_000_000
