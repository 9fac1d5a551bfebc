import shutil
import threading
from pathlib import Path

import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.processes import own_process
from lake_assets.state.files import read_heartbeat
from lake_assets.state.heartbeat import HeartbeatThread, Progress

soon = retry(
    retry=retry_if_result(lambda found: not found), wait=wait_fixed(0.01), stop=stop_after_delay(20)
)


def thread(state_dir: Path, ask=lambda: Progress(progressed_at=1.0)) -> HeartbeatThread:
    return HeartbeatThread(state_dir, "a run", ask, every_s=0.01)


def last(state_dir: Path) -> Heartbeat:
    beat = read_heartbeat(state_dir)
    assert beat
    return beat


def test_a_heartbeat_is_there_before_anything_else_happens(tmp_path):
    with HeartbeatThread(tmp_path, "a run", lambda: Progress(progressed_at=1.0), every_s=3600):
        beat = last(tmp_path)
    assert (beat.process, beat.owner, beat.progressed_at) == (own_process(), "a run", 1.0)


def test_heartbeats_go_on_while_the_callers_thread_is_busy(tmp_path):
    asked = threading.Semaphore(0)

    def ask() -> Progress:
        asked.release()
        return Progress(progressed_at=1.0)

    with thread(tmp_path, ask):
        first = last(tmp_path)
        for _ in range(3):  # the caller does nothing but wait
            assert asked.acquire(timeout=20)
        assert last(tmp_path).at > first.at


def test_a_heartbeat_tells_what_is_so_now(tmp_path):
    said = [Progress(progressed_at=1.0), Progress(progressed_at=2.0, waiting_for="a broker")]
    with thread(tmp_path, lambda: said.pop(0) if len(said) > 1 else said[0]):
        soon(lambda: last(tmp_path).waiting_for == "a broker")()
    assert last(tmp_path).progressed_at == 2.0


def test_a_heartbeat_that_cannot_be_written_is_told_and_tried_again(tmp_path):
    state_dir = tmp_path / "state"
    with thread(state_dir) as beating:
        # A file in the folder's place: nothing can be written there.
        shutil.move(state_dir, tmp_path / "away")
        state_dir.touch()
        soon(lambda: beating.failure)()
        assert isinstance(beating.failure, OSError)
        state_dir.unlink()
        soon(lambda: beating.failure is None)()
        assert soon(lambda: read_heartbeat(state_dir))()


def test_a_first_heartbeat_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"), thread(tmp_path / "file"):
        pass


def test_the_thread_ends_with_its_block(tmp_path):
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError), thread(tmp_path):
        _ = 1 / 0
    assert threading.active_count() == before
