import signal
import subprocess
import threading
import time
from dataclasses import replace
from functools import partial

import httpx
import psutil
import pytest
from rich.console import Console

from lake_assets.demo.live import run_live, streams_in_words
from lake_assets.demo.setup import Options
from lake_assets.errors import ServiceError
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.runtime.file_lock import try_lock
from lake_assets.runtime.processes import own_process
from lake_assets.settings.load import child_environment
from lake_assets.settings.schema import StreamSettings
from lake_assets_tests.commandline import COMMAND, lake_assets

# A machine that runs the whole suite on two cores needs minutes for what takes seconds alone.
_DEADLINE_S = 400.0  # twice, it is below the limit of a slow test


def _read_until(process, wanted, seen):
    deadline = time.monotonic() + _DEADLINE_S
    for line in process.stdout:
        seen.append(line)
        if wanted(line):
            return line
        assert time.monotonic() < deadline, "".join(seen[-20:])
    pytest.fail("the demo ended:\n" + "".join(seen[-20:]))


def test_a_second_demo_of_a_home_is_refused_before_it_starts_anything(settings):
    settings.home.mkdir(parents=True)
    run = partial(run_live, settings, Options(), console=Console(), every_s=1.0)
    with (
        try_lock(settings.home / "demo.lock"),
        pytest.raises(ServiceError, match="one runs already with the home"),
    ):
        run(stop=threading.Event(), show=lambda _: None)
    assert [path.name for path in settings.home.iterdir()] == ["demo.lock"]


@pytest.mark.kafka
@pytest.mark.spark
@pytest.mark.slow
def test_the_demo_fills_gold_and_ctrl_c_leaves_nothing_behind(settings):
    """Embedded services of its own, Dagster's page, gold rows by a schedule, and a clean end."""
    settings = settings.model_copy(update={"feeds": None})  # all that ship
    quick = settings.model_copy(
        update={
            "stream": StreamSettings(trigger_s=5, report_every_s=5, report_events_per_day=10**9)
        }
    )
    process = subprocess.Popen(  # noqa: S603 - our own command line
        [*COMMAND, "demo", "--key", "chess", "--key", "go", "--rate", "50"],
        env=child_environment(quick) | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        # A test run in the background ignores SIGINT, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509
    )
    seen: list[str] = []
    started: list[psutil.Process] = []
    try:
        address = _read_until(process, lambda line: line.startswith("Dagster: "), seen).split()[1]
        assert httpx.get(f"{address}/server_info", timeout=60).is_success
        _read_until(process, lambda line: "gold" in line and "gold 0 " not in line, seen)
        started = psutil.Process(process.pid).children(recursive=True)
    finally:
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=_DEADLINE_S)
    assert process.returncode == 0, rest
    assert "stopped; started again, it goes on where it was" in rest
    assert len(started) > 3, "Kafka, the registry, Dagster and the streams at least"
    left = [p for p in started if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert left == []
    shown = lake_assets(settings, "tables", "--json")
    # Whichever view was first; Ctrl-C did not wait for the others.
    assert '"table": "gold_' in shown.stdout or '"table": "all_games_' in shown.stdout
    assert '"table": "silver_pulse_events"' in shown.stdout


def test_the_page_says_which_streams_stand_still():
    beat = Heartbeat(
        process=own_process(),
        owner="cli",
        began_at=0,
        at=100,
        progressed_at=100,
        stopped={"fitness": "its batch fails"},
        stopped_by={"games": "ann"},
    )
    told = partial(streams_in_words, now=104, late_s=5)
    assert told(None) == "starting"
    assert told(beat) == "running, but not fitness, games"
    assert told(replace(beat, stopped={}, stopped_by={})) == "running"
    assert told(replace(beat, at=90)) == "silent for 14 s"
    assert told(replace(beat, waiting_for="Kafka")) == "waiting: Kafka"
