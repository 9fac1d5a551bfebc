import signal
import subprocess
import sys
import time

import psutil

from lake_assets.lake.state import Heartbeat, own_heartbeat, streams_lock, write_heartbeat
from lake_assets.settings.schema import StreamSettings
from lake_assets.supervision.act import (
    is_alive,
    is_process_alive,
    look,
    own_process,
    policy_of,
    send,
    signal_holder,
)
from lake_assets.supervision.facts import Action, Kind, Observed, Why


def test_an_empty_lake_is_unlocked_and_silent(settings):
    assert look(settings, now=5.0) == Observed(now=5.0, is_locked=False)


def test_a_living_holder_is_seen(settings):
    with streams_lock(settings.state_dir):
        beat = own_heartbeat("A", progressed_at=1.0, waiting_for=None)
        write_heartbeat(settings.state_dir, beat)
        seen = look(settings, now=5.0)
    assert seen == Observed(now=5.0, is_locked=True, beat=beat, is_beater_alive=True)


def test_patience_comes_from_settings(settings):
    stream = StreamSettings(stall_after_s=7)
    assert policy_of(settings.model_copy(update={"stream": stream})).stall_after_s == 7


def test_a_process_is_asked_to_end(sleeper):
    assert send(signal.SIGTERM, sleeper.pid, sleeper.create_time())
    assert sleeper.wait(10) in {None, -signal.SIGTERM}


def test_a_stubborn_process_is_killed(sleeper):
    started_at = sleeper.create_time()
    beat = Heartbeat(
        pid=sleeper.pid,
        process_started_at=started_at,
        owner="A",
        at=time.time(),
        progressed_at=0.0,
    )
    assert signal_holder(Action(kind=Kind.KILL, why=Why.STUBBORN), beat)
    sleeper.wait(10)
    assert not is_alive(sleeper.pid, started_at)


def test_a_process_that_took_over_a_pid_is_left_alone(sleeper):
    assert not send(signal.SIGKILL, sleeper.pid, sleeper.create_time() - 60)
    assert is_alive(sleeper.pid, sleeper.create_time())


def test_a_zombie_is_not_alive():
    process = subprocess.Popen([sys.executable, "-c", ""])
    seen = psutil.Process(process.pid)
    started_at = seen.create_time()
    deadline = time.monotonic() + 10
    while seen.status() != psutil.STATUS_ZOMBIE and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(process.pid, started_at)
    process.wait()
    assert not is_alive(process.pid, started_at)


def test_a_process_knows_itself_by_name():
    assert is_process_alive(own_process())
    assert not is_process_alive("1@1.0")
