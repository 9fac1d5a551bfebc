import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tenacity import retry, retry_if_result, stop_after_delay, wait_fixed

from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import own_process
from lake_assets.services.child import find, find_all, last_words, launch, stop

Start = Callable[[str], ProcessId]

_WAITS = "import signal; print('ready', flush=True); signal.pause()"
_REFUSES = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + _WAITS


@retry(
    retry=retry_if_result(lambda said: not said), wait=wait_fixed(0.02), stop=stop_after_delay(20)
)
def _once_ready(log: Path) -> str:
    return log.read_text()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a Python program that stands for a service, and waits until it speaks."""

    def start_program(code: str) -> ProcessId:
        program = tmp_path / "program"
        program.write_text(f"#!{sys.executable}\n{code}\n")
        program.chmod(0o755)
        child = launch([str(program)], tmp_path, tmp_path / "a.log")
        assert child is not None
        _once_ready(tmp_path / "a.log")
        return child

    yield start_program
    for process in find_all(tmp_path):
        process.kill()


def test_a_child_is_found_by_its_record(start, tmp_path):
    child = start(_WAITS)
    process = find(child, tmp_path)
    assert process is not None
    assert process.pid == child.pid


def test_a_child_leaves_the_session_of_its_shell(start):
    assert os.getsid(start(_WAITS).pid) != os.getsid(0)


@pytest.mark.parametrize("other", [{"start": "0"}, {"boot": "another"}], ids=["start", "boot"])
def test_a_used_id_of_another_start_or_boot_is_somebody_else(start, tmp_path, other):
    child = start(_WAITS)
    assert find(replace(child, **other), tmp_path) is None


def test_a_process_of_another_folder_is_not_ours(tmp_path):
    assert find(own_process(), tmp_path) is None


def test_a_process_without_a_record_is_found_by_its_mark(start, tmp_path):
    child = start(_WAITS)
    assert [process.pid for process in find_all(tmp_path)] == [child.pid]


@pytest.mark.parametrize("code", [_WAITS, _REFUSES], ids=["willing", "stubborn"])
def test_a_stopped_child_is_gone(start, tmp_path, code):
    child = start(code)
    process = find(child, tmp_path)
    assert process is not None
    stop(process, patience_s=1)
    assert find(child, tmp_path) is None
    stop(process)


def test_the_log_of_the_run_before_is_kept(start, tmp_path):
    (tmp_path / "a.log").write_text("before")
    start(_WAITS)
    assert (tmp_path / "a.previous.log").read_text() == "before"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "it left no message"),
        ("starting\nstarted\n\n", "started"),
        ("1 ERROR no room\n  at java.lang\n  ... 9 more\nbye\n", "1 ERROR no room"),
    ],
)
def test_the_last_words_are_the_ones_that_mean_something(tmp_path, text, expected):
    (tmp_path / "a.log").write_text(text)
    assert last_words(tmp_path / "a.log") == expected


def test_no_log_has_no_words(tmp_path):
    assert last_words(tmp_path / "a.log") == "it left no message"
