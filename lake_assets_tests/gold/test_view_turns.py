import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from lake_assets.gold import view_turns
from lake_assets.gold.view_turns import turn_of, turn_of_view_if_free, turn_of_views, words_of_wait
from lake_assets.model.processes import ProcessId
from lake_assets.state.files import turn
from lake_assets.state.turn_holders import Holder, holder_of
from lake_assets_tests.sample import GAMES

(VIEW,) = GAMES.gold
TASK = turn_of(GAMES, VIEW)
HOLDS = """
import sys
from pathlib import Path
from lake_assets.gold.view_turns import turn_of_views
from lake_assets_tests.sample import GAMES
with turn_of_views(Path(sys.argv[1]), GAMES, GAMES.gold):
    print("it is mine", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def soon(monkeypatch):
    monkeypatch.setattr(view_turns, "TELL_AFTER_S", 0.2)


@pytest.fixture
def other(settings):
    """Another process that has the turn."""
    command = [sys.executable, "-c", HOLDS, str(settings.state_dir)]
    with subprocess.Popen(  # noqa: S603 - our own program
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "it is mine\n"
        yield process
        process.stdin.close()


def waits(settings, went):
    with turn_of_views(settings.state_dir, GAMES, GAMES.gold):
        went.append(True)


@pytest.mark.usefixtures("soon")
def test_who_waits_tells_for_whom_and_goes_on_once_it_is_free(settings, other, caplog):
    went = []
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(waits, settings, went)
        while not caplog.records:
            time.sleep(0.01)
        assert not went
        other.stdin.close()
        waiting.result(30)
    (told,) = [record.getMessage() for record in caplog.records]
    assert told.startswith(f"view games.player_agg: process {other.pid} (`-c /")
    assert told.endswith(f"changes nothing; `kill {other.pid}` ends what is waited for")
    assert went == [True]


def test_who_need_not_wait_says_nothing(settings, caplog):
    for _ in range(2):
        waits(settings, [])
    with turn_of_view_if_free(settings.state_dir, GAMES, VIEW) as is_ours:
        assert is_ours
        assert holder_of(settings.state_dir, TASK).process.pid == os.getpid()
        with turn_of_view_if_free(settings.state_dir, GAMES, VIEW) as is_ours_too:
            assert not is_ours_too
        assert holder_of(settings.state_dir, TASK) is not None
    assert holder_of(settings.state_dir, TASK) is None
    assert not caplog.records


@pytest.mark.usefixtures("soon")
def test_a_holder_that_cannot_be_told_is_waited_for_as_well(settings, caplog):
    """One of another release, container or machine."""
    went = []
    with ThreadPoolExecutor(1) as pool, ExitStack() as held:
        held.enter_context(turn(settings.state_dir, TASK))
        waiting = pool.submit(waits, settings, went)
        while not caplog.records:
            time.sleep(0.01)
        held.close()
        waiting.result(30)
    assert "this waits for another process, which is at it" in caplog.text
    assert went == [True]


def test_streams_are_not_to_be_killed():
    process = ProcessId(boot="boot", pid=7, start="1")
    holder = Holder(process=process, command="lake-assets stream", since=100.0)
    told = words_of_wait("games.it", holder, process, 412.3)
    assert told.startswith(
        "view games.it: process 7 (`lake-assets stream`) has been at it for 312 s, and this waits"
    )
    assert "give a view up after LAKE_ASSETS_STREAM_VIEW_TIMEOUT_S seconds" in told
    assert "kill" not in told
