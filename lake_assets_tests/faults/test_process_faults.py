from contextlib import suppress
from random import Random
from types import SimpleNamespace

import psutil
import pytest

from faults import process_faults
from faults.process_faults import AbsentError, Kill, Pause
from lake_assets_tests.e2e.dev import wait_for

CHANCE = Random(1)  # noqa: S311 - as the suite


@pytest.fixture
def system(sleeper):
    """One broker, and what was asked to be restored."""
    restored = []
    return SimpleNamespace(
        processes=lambda: {"broker": [sleeper.pid]}, restore=restored.append, restored=restored
    )


def test_a_kill_ends_the_process_and_has_it_restored_at_the_end_of_the_block(system, sleeper):
    with Kill("broker").inject(system, CHANCE) as what:
        assert what == f"killed the broker, {sleeper.pid}"
        # It has ended, so that whoever started it sees that at once, and nobody has taken that.
        assert sleeper.status() == psutil.STATUS_ZOMBIE
        assert system.restored == []
    assert system.restored == ["broker"]


def test_a_pause_stops_the_process_until_the_end_of_the_block_also_if_that_fails(system, sleeper):
    def is_stopped():
        return sleeper.status() == psutil.STATUS_STOPPED

    with suppress(ZeroDivisionError), Pause("broker").inject(system, CHANCE):
        wait_for(is_stopped, "a stop", within_s=120)
        _ = 1 / 0
    wait_for(lambda: not is_stopped(), "its going on", within_s=120)
    assert system.restored == ["broker"]


def test_a_paused_process_may_be_killed_by_others_meanwhile(system, sleeper):
    with Pause("broker").inject(system, CHANCE):
        sleeper.kill()
        sleeper.wait(10)
    assert system.restored == ["broker"]


def test_a_role_that_nothing_plays_is_no_fault(system, monkeypatch):
    monkeypatch.setattr(process_faults, "_APPEARS_WITHIN_S", 0.0)
    with (
        pytest.raises(AbsentError, match="no daemon ran"),
        Kill("daemon").inject(system, CHANCE),
    ):
        pass


def test_each_role_is_killed_and_paused():
    names = [fault.name for fault in process_faults.process_faults(frozenset({"jvm", "broker"}))]
    assert names == [
        "kill -9 of the streams' JVM",
        "pause of the streams' JVM",
        "kill -9 of the broker",
        "pause of the broker",
    ]
