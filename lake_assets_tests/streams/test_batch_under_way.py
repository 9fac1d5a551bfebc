"""Who erases beside streams that were stopped in the middle of a batch."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from lake_assets.errors import ErasureError
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import process_of
from lake_assets.state.erasing_fence import while_planned
from lake_assets.state.files import write_heartbeat
from lake_assets.streams.batch_under_way import while_no_batch, words_of

_IN_A_BATCH = """
import sys, time
from pathlib import Path
from lake_assets.state.erasing_fence import while_planned
with while_planned(Path(sys.argv[1]), "games"):
    print("within", flush=True)
    sys.stdin.read()
"""

ME = ProcessId(boot="b", pid=7, start="1")


def beat_of(process: ProcessId, **given: float) -> Heartbeat:
    times = {"began_at": 0.0, "at": 0.0, "progressed_at": 0.0, **given}
    return Heartbeat(process=process, owner="cli", **times)


@pytest.fixture
def streams(tmp_path) -> Iterator["subprocess.Popen[str]"]:
    """A process that has a batch under way until its input ends."""
    command = [sys.executable, "-c", _IN_A_BATCH, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:  # noqa: S603 - ours
        assert process.stdout
        assert process.stdout.readline() == "within\n"
        found = process_of(process.pid)
        assert found
        write_heartbeat(tmp_path, beat_of(found, progressed_at=time.monotonic()))
        yield process
        process.send_signal(signal.SIGCONT)
        process.kill()


def test_who_waits_for_a_stopped_process_is_told_and_ends(streams, tmp_path):
    streams.send_signal(signal.SIGSTOP)
    told: list[str] = []
    with (
        pytest.raises(ErasureError, match=f"kill -CONT {streams.pid}") as failed,
        while_no_batch(tmp_path, "games", told.append, within_s=0.3),
    ):
        pytest.fail("a batch is under way")
    assert "ask for it again, with its values" in str(failed.value)
    assert str(streams.pid) in told[0]
    streams.kill()
    streams.wait()
    with while_no_batch(tmp_path, "games", told.append, within_s=10), while_planned(tmp_path, "b"):
        assert len(told) == 1


def test_other_batches_are_planned_while_nobody_can_pass(streams, tmp_path):
    with (
        pytest.raises(ErasureError, match=f"kill {streams.pid}` loses nothing"),
        while_no_batch(tmp_path, "games", print, within_s=0.2),
    ):
        pytest.fail("a batch is under way")
    with while_planned(tmp_path, "games"):
        pass


def test_it_says_whose_batch_it_is():
    quiet = beat_of(ME, progressed_at=10.0)
    assert "ended 20 s ago" in words_of(quiet, 30.0, lambda _: False)[0]
    assert "SIGSTOP" in words_of(quiet, 30.0, lambda _: True)[0]
    for beat in (None, quiet):
        assert "not known" in words_of(beat, 30.0, lambda _: None)[0]
