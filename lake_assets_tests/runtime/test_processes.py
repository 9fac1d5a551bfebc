import os
import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import boot_id, find_process, is_alive, own_process, process_of
from lake_assets_tests.programs import run_program

_ASKS = """
import sys
from lake_assets.runtime.processes import process_of
print(process_of(int(sys.argv[1])))
"""


def test_a_process_knows_itself_and_is_known_to_others():
    own = own_process()
    assert own.pid == os.getpid()
    assert run_program(_ASKS, [str(own.pid)]).strip() == str(own)


@pytest.mark.parametrize("pid", [-5, 0, 2**40])
def test_what_is_no_pid_is_no_process(pid):
    assert not is_alive(replace(own_process(), pid=pid))


def test_a_process_that_is_written_down_is_read_back():
    own = own_process()
    assert ProcessId.parse(str(own)) == own


@pytest.mark.parametrize("text", ["", "1@1.0", "a/b/c", "a/7/", "7"])
def test_another_text_is_no_process(text):
    assert ProcessId.parse(text) is None


def test_a_living_process_is_found(sleeper):
    process = process_of(sleeper.pid)
    assert find_process(process) == sleeper
    sleeper.kill()
    sleeper.wait()
    assert find_process(process) is None
    assert process_of(sleeper.pid) is None


@pytest.mark.parametrize(
    "other",
    [{"boot": "another machine, or this one before it was booted"}, {"start": "0"}],
    ids=["boot", "start"],
)
def test_whoever_else_has_the_pid_is_not_found(sleeper, other):
    process = process_of(sleeper.pid)
    assert process
    assert not is_alive(replace(process, **other))


def test_a_zombie_is_not_alive():
    child = subprocess.Popen([sys.executable, "-c", ""])
    process = process_of(child.pid)
    handle = psutil.Process(child.pid)
    retrying = retry(
        retry=retry_if_result(lambda status: status != psutil.STATUS_ZOMBIE),
        wait=wait_fixed(0.01),
        stop=stop_after_delay(10),
    )
    retrying(handle.status)()
    assert not is_alive(process)
    child.wait()


def test_a_start_is_not_told_by_the_clock_of_the_wall():
    """The kernel counts from the boot, so that setting the clock changes nothing."""
    uptime_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert 0 < int(own_process().start) / os.sysconf("SC_CLK_TCK") <= uptime_s


def test_without_proc_the_system_is_asked(tmp_path, sleeper):
    """As on macOS; what `ps` says there is the kernel's, too."""
    found = process_of(sleeper.pid, tmp_path)
    assert found == process_of(sleeper.pid, tmp_path)
    assert found.start
    assert found.boot == boot_id(tmp_path) != boot_id()
    sleeper.kill()
    sleeper.wait()
    assert process_of(sleeper.pid, tmp_path) is None
