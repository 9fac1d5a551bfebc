import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from lake_assets.errors import LakeError, StreamsLockedError
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import own_process
from lake_assets.state.files import (
    current_heartbeat,
    ensure_writable,
    is_locked,
    own_heartbeat,
    read_heartbeat,
    streams_lock,
    write_heartbeat,
)

_HOLDER = """
import signal, sys
from pathlib import Path
from lake_assets.state.files import streams_lock
with streams_lock(Path(sys.argv[1])):
    print("held", flush=True)
    signal.pause()
"""

BEAT = Heartbeat(
    process=ProcessId(boot="b", pid=1, start="25"),
    owner="cli",
    began_at=2.5,
    at=3.5,
    progressed_at=3.0,
    waiting_for="a broker",
)


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock."""
    command = [sys.executable, "-c", _HOLDER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603 - our own program
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_held_by_one_process(tmp_path, holder):
    with pytest.raises(StreamsLockedError) as caught, streams_lock(tmp_path):
        pass
    assert caught.value.holder == f"pid {holder.pid}"


def test_another_process_sees_that_a_lock_is_held(tmp_path, holder):
    assert holder.poll() is None
    assert is_locked(tmp_path)


def test_a_killed_holder_holds_nothing(tmp_path, holder):
    os.kill(holder.pid, signal.SIGKILL)
    holder.wait(timeout=20)
    assert not is_locked(tmp_path)
    with streams_lock(tmp_path):
        pass


def test_a_lock_is_free_after_its_block(tmp_path):
    with streams_lock(tmp_path):
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


def test_a_lock_is_free_after_an_error(tmp_path):
    with pytest.raises(ZeroDivisionError), streams_lock(tmp_path):
        _ = 1 / 0
    assert not is_locked(tmp_path)


def test_a_lock_that_never_was_is_not_held(tmp_path):
    assert not is_locked(tmp_path / "nowhere")


def test_a_heartbeat_comes_back_as_it_was(tmp_path):
    write_heartbeat(tmp_path, BEAT)
    assert read_heartbeat(tmp_path) == BEAT


def test_a_folder_in_the_place_of_a_heartbeat_is_none(tmp_path):
    (tmp_path / "heartbeat.json").mkdir()
    assert read_heartbeat(tmp_path) is None


def test_the_last_heartbeat_counts(tmp_path):
    write_heartbeat(tmp_path, BEAT)
    write_heartbeat(tmp_path, replace(BEAT, at=9.0))
    assert read_heartbeat(tmp_path) == replace(BEAT, at=9.0)


def test_a_heartbeat_of_another_boot_is_none_of_now(tmp_path):
    assert current_heartbeat(tmp_path) is None
    write_heartbeat(tmp_path, BEAT)
    assert current_heartbeat(tmp_path) is None
    own = own_heartbeat("cli", progressed_at=1.0, waiting_for=None)
    write_heartbeat(tmp_path, own)
    assert current_heartbeat(tmp_path) == own


OF_THE_FIRST_RELEASE = (
    '{"pid": 1, "process_started_at": 2.5, "owner": "cli", "at": 3.5, "progressed_at": 3.0}'
)
TORN = '{"process": {"boot": "b", "pid": 1, "st'


@pytest.mark.parametrize(
    "text", [None, "", "{", "{}", "[]", '{"process": 1}', TORN, OF_THE_FIRST_RELEASE]
)
def test_a_heartbeat_that_cannot_be_read_is_none(tmp_path, text):
    if text is not None:
        (tmp_path / "heartbeat.json").write_text(text)
    assert read_heartbeat(tmp_path) is None


def test_an_own_heartbeat_tells_this_process_from_others():
    beat = own_heartbeat("run 1", progressed_at=1.0, waiting_for=None)
    assert (beat.process, beat.pid) == (own_process(), os.getpid())
    assert beat.began_at <= beat.at <= time.monotonic()


def test_a_writable_folder_is_made_and_left_empty(tmp_path):
    ensure_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


@pytest.mark.parametrize("folder", ["file", "file/below"])
def test_a_folder_that_cannot_be_is_an_error(tmp_path, folder):
    (tmp_path / "file").write_text("")
    with pytest.raises(LakeError, match="cannot be written"):
        ensure_writable(tmp_path / folder)


def test_a_state_folder_within_a_file_has_no_heartbeat(tmp_path):
    (tmp_path / "file").touch()
    assert read_heartbeat(tmp_path / "file" / "state") is None
