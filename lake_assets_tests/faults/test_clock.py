import os
import shutil
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from faults.clock import Clock, ClockSetBack, ClockSetForward, cannot_step, clock_faults
from lake_assets.runtime.java import find_java
from lake_assets.settings.load import load_settings

HOUR, DAY = 3600, 86_400

PYTHON = """
import datetime, logging, sys, threading, time
from confluent_kafka.admin import AdminClient
admin = AdminClient({"bootstrap.servers": "127.0.0.1:1", "logger": logging.Logger("silent", 60)})
for _ in sys.stdin:
    began = time.monotonic()
    time.sleep(0.05)
    threading.Event().wait(0.05)
    threading.Semaphore(0).acquire(timeout=0.05)
    until = time.monotonic() + 0.05
    while time.monotonic() < until:  # what it has to say ends a wait
        admin.poll(0.05)
    waited = time.monotonic() - began
    print(time.time(), datetime.datetime.now().timestamp(), waited, flush=True)
"""

JAVA = """
import java.util.concurrent.locks.LockSupport;

public class Waits {
    public static void main(String[] none) throws Exception {
        Object lock = new Object();
        while (System.in.read() >= 0) {
            long began = System.nanoTime();
            Thread.sleep(50);
            LockSupport.parkUntil(System.currentTimeMillis() + 50);
            synchronized (lock) { lock.wait(50); }
            double waited = (System.nanoTime() - began) / 1e9;
            double one = System.currentTimeMillis() / 1e3;
            double other = java.time.Instant.now().toEpochMilli() / 1e3;
            System.out.println(one + " " + other + " " + waited);
        }
    }
}
"""


@pytest.fixture
def clock(tmp_path):
    reason = cannot_step()
    if reason is not None:
        pytest.skip(reason)
    return Clock(tmp_path / "clock")


class Running:
    """A process that says, when asked, by how much two of its clocks are ahead, and its waits.

    Both read some time within the question, which is as near as anybody can tell.
    """

    def __init__(self, process):
        self.process = process

    def ask(self) -> tuple[float, float, float, float]:
        began = time.time()
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        first, second, waited = map(float, self.process.stdout.readline().split())
        now = time.time()
        return first - now, second - now, waited, now - began


def start(clock, *command):
    pipe = subprocess.PIPE
    env = os.environ | clock.environment()  # noqa: TID251 - that of the tests
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=env)  # noqa: S603


def steps_are_seen(clock: Clock, process: Running) -> None:
    for ahead in (0, -HOUR, DAY, 0.5, 0):
        clock.set_ahead(timedelta(seconds=ahead))
        waits = []
        for _ in range(3):  # of which a busy machine may disturb some
            first, second, waited, within = process.ask()
            assert first == pytest.approx(ahead, abs=within)
            assert second == pytest.approx(ahead, abs=within)
            waits.append(waited)
        assert 0.14 < min(waits) < 0.6


def test_a_running_python_sees_each_step_and_waits_as_long_as_it_did(clock):
    with start(clock, sys.executable, "-c", PYTHON) as process:
        steps_are_seen(clock, Running(process))
        process.stdin.close()
    assert process.returncode == 0


@pytest.mark.java
def test_a_running_java_sees_each_step_and_waits_as_long_as_it_did(clock, tmp_path):
    compiler = shutil.which("javac")
    if compiler is None:
        pytest.skip("there is no Java compiler (apt-get install openjdk-17-jdk-headless)")
    source = tmp_path / "Waits.java"
    source.write_text(JAVA)
    subprocess.run([compiler, source], check=True)  # noqa: S603
    java = find_java(load_settings().runtime.cache).executable
    quick = "-XX:TieredStopAtLevel=1"
    with start(clock, str(java), quick, "-cp", str(tmp_path), "Waits") as process:
        steps_are_seen(clock, Running(process))
        process.stdin.close()
    assert process.returncode == 0


def test_its_children_have_the_same_clock(clock):
    clock.set_ahead(timedelta(seconds=-HOUR))
    with start(clock, "sh", "-c", "date +%s; exec date +%s") as process:
        said = [int(line) - time.time() for line in process.stdout]
    assert said == [pytest.approx(-HOUR, abs=60)] * 2


def test_a_process_whose_clock_is_gone_says_so(clock, tmp_path):
    shutil.move(tmp_path / "clock" / "ahead", tmp_path / "elsewhere")
    with start(clock, "date") as process:
        assert process.stdout.read() == ""
    assert process.returncode == 127


@pytest.mark.parametrize(("kind", "sign"), [(ClockSetBack, -1), (ClockSetForward, 1)])
def test_a_fault_steps_and_steps_back_also_when_its_block_fails(clock, kind, sign):
    with start(clock, sys.executable, "-c", PYTHON) as process:
        running = Running(process)

        def fail_within():
            fault = kind(clock)
            assert fault.unavailable() is None
            with fault.inject(SimpleNamespace(), Random(1)) as done:  # noqa: S311
                assert done.startswith(fault.name)
                assert running.ask()[0] * sign > 80
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail_within()
        ahead, _, _, within = running.ask()
        assert abs(ahead) < within
        process.stdin.close()


def test_a_stream_without_a_clock_of_its_own_is_said_by_name():
    reason = cannot_step() or "the stream has no clock of its own here"
    assert {fault.unavailable() for fault in clock_faults(None)} == {reason}


def test_without_a_compiler_it_is_said_what_is_missing():
    code = "from faults.clock import cannot_step; print(cannot_step())"
    env = os.environ | {"PATH": str(Path(__file__).parent)}  # noqa: TID251 - that of the tests
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, env=env
    )
    assert "no C compiler (apt-get install gcc" in done.stdout or sys.platform != "linux"
