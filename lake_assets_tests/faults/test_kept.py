import sys

import psutil
import pytest

from faults.kept import Kept
from lake_assets.errors import StreamError
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import Settings
from lake_assets_tests.e2e.dev import wait_for

SLEEP = "import time; print('up', flush=True); time.sleep(60)"

DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEP}"


@pytest.fixture
def keep(tmp_path):
    made = []

    def go(program):
        said = []
        environment = child_environment(Settings())
        one = Kept("streams", [sys.executable, "-c", program], environment, tmp_path, said.append)
        made.append(one)
        one.start()
        wait_for(lambda: "up" in _text(one), "its start", within_s=120)
        return one, said

    yield go
    for one in made:
        one.kill()


def _text(one):
    return one.output.read_text() if one.output.exists() else ""


def _pid():
    (found,) = [c for c in psutil.Process().children() if "time.sleep(60)" in " ".join(c.cmdline())]
    return found


def test_a_process_that_is_killed_is_started_again_and_that_is_said(keep):
    one, said = keep(SLEEP)
    _pid().kill()
    wait_for(lambda: _text(one).count("up") == 2, "another start", within_s=120)
    assert (one.starts, said) == (2, ["streams ended with code -9; it is started again"])


def test_one_that_is_told_to_end_is_not_started_again(keep):
    one, said = keep(SLEEP)
    process = _pid()
    one.end(within_s=30)
    assert (process.is_running(), one.starts, said) == (False, 1, [])


def test_one_that_does_not_heed_sigterm_is_killed_and_called_a_failure(keep):
    one, _ = keep(DEAF)
    process = _pid()
    with pytest.raises(StreamError, match="did not end within 0 s of SIGTERM"):
        one.end(within_s=0.3)
    assert not process.is_running()
