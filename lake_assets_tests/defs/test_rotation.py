import time

import dagster as dg
import pytest
from dagster._core.remote_origin import RemoteJobOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)

from lake_assets.defs.rotation import SUPERVISOR, Rotation
from lake_assets_tests.defs.origins import REPOSITORY, instigator


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def rotation(stored, clock):
    @dg.job
    def streams():
        """Stands for the real one."""

    run = stored.create_run_for_job(streams, remote_job_origin=RemoteJobOrigin(REPOSITORY, "s"))
    return Rotation(stored, run, supervisor=SUPERVISOR, after_h=1, clock=clock)


@pytest.fixture
def tick(stored):
    """Has the supervisor tick so many seconds ago."""

    def do(ago_s: float = 0.0, status: InstigatorStatus = InstigatorStatus.RUNNING) -> None:
        at = time.time() - ago_s
        data = SensorInstigatorData(last_tick_timestamp=at, last_tick_start_timestamp=at)
        origin = instigator(SUPERVISOR)
        state = InstigatorState(origin, InstigatorType.SENSOR, status, data)
        known = stored.get_instigator_state(state.instigator_origin_id, state.selector_id)
        put = stored.update_instigator_state if known else stored.add_instigator_state
        put(state)

    return do


def test_a_runs_time_is_over_once_and_not_before(rotation, clock, tick):
    tick()
    rotation.is_due(did_something=True)
    clock.now += 3599
    assert not rotation.is_due()
    clock.now += 1
    assert rotation.is_due()


def test_a_runs_time_counts_from_its_first_batch(rotation, clock, tick):
    """Spark takes half a minute to start: runs that are shorter would read nothing, for ever."""
    tick()
    clock.now += 300
    rotation.is_due(did_something=True)
    clock.now += 3599
    rotation.is_due(did_something=True)
    assert not rotation.is_due()
    clock.now += 1
    assert rotation.is_due()


def test_a_run_to_which_nothing_comes_ends_too(rotation, clock, tick):
    tick()
    clock.now += 4199
    assert not rotation.is_due()
    clock.now += 1
    assert rotation.is_due()


@pytest.mark.parametrize("ago_s", [600, -600])
def test_a_run_goes_on_while_nobody_would_start_the_next(rotation, clock, tick, ago_s):
    rotation.is_due(did_something=True)
    clock.now += 3600
    assert not rotation.is_due()
    tick(ago_s)
    clock.now += 10
    assert not rotation.is_due()
    tick()
    assert not rotation.is_due()  # it does not ask Dagster after each batch
    clock.now += 10
    assert rotation.is_due()


def test_a_run_goes_on_whose_supervisor_was_turned_off(rotation, clock, tick):
    tick(status=InstigatorStatus.STOPPED)
    rotation.is_due(did_something=True)
    clock.now += 3600
    assert not rotation.is_due()


def test_a_run_outside_of_a_code_location_is_nobodys_to_continue(instance, clock):
    @dg.job
    def streams():
        """Executed in this process."""

    rotation = Rotation(
        instance,
        instance.create_run_for_job(streams),
        supervisor=SUPERVISOR,
        after_h=1,
        clock=clock,
    )
    clock.now += 7200
    assert not rotation.is_due()
