import fcntl
import os
import signal
import subprocess
import sys
from threading import Thread

import pytest

from lake_assets.runtime.file_lock import is_locked, lock, try_lock

_HOLDER = """
import sys, time
from pathlib import Path
from lake_assets.runtime.file_lock import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)  # the test kills it long before
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.lock"


@pytest.fixture
def holder(path):
    """Another process that holds the lock."""
    command = [sys.executable, "-c", _HOLDER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_held_by_one_process(path, holder):
    assert holder.poll() is None
    assert is_locked(path)
    with try_lock(path, within_s=0.2) as is_ours:
        assert not is_ours


def test_the_kernel_frees_the_lock_of_a_killed_holder(path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(timeout=20)
    assert not is_locked(path)
    with try_lock(path) as is_ours:
        assert is_ours


def test_a_lock_is_free_after_its_block_also_after_an_error(path):
    with pytest.raises(ZeroDivisionError), lock(path):
        _ = 1 / 0
    with pytest.raises(ZeroDivisionError), try_lock(path):
        _ = 1 / 0
    assert not is_locked(path)


def test_threads_take_turns(path):
    inside, most = [], []

    def work():
        for _ in range(20):
            with lock(path):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 80


def test_a_process_of_a_release_that_called_flock_itself_is_excluded_and_excludes(path):
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert is_locked(path)
    with lock(path), path.open("a+") as file, pytest.raises(BlockingIOError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_what_a_holder_notes_in_the_file_stays(path):
    path.write_text("pid 7")
    assert not is_locked(path)
    with lock(path), try_lock(path) as is_ours:
        assert not is_ours
    assert path.read_text() == "pid 7"


def test_a_lock_that_never_was_is_not_held_and_not_made(path):
    assert not is_locked(path)
    assert not path.exists()
