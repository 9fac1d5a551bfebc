import time
from datetime import UTC, datetime

import dagster as dg
import pytest
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    ScheduleInstigatorData,
    SensorInstigatorData,
)
from dagster._daemon.sensor import get_elapsed

from lake_assets.defs.internals.instigators import (
    has_ticked,
    keep_off,
    last_tick,
    let_sensors_tick,
    repository_of,
    turned_off,
)
from lake_assets_tests.defs.origins import instigator


@pytest.mark.parametrize("status", list(InstigatorStatus))
def test_a_sensor_is_off_that_a_user_turned_off(instance, status):
    instance.add_instigator_state(
        InstigatorState(
            instigator("supervisor"),
            InstigatorType.SENSOR,
            status,
            SensorInstigatorData(min_interval=5),
        )
    )
    is_off = status is InstigatorStatus.STOPPED
    assert turned_off(instance, None) == (frozenset({"supervisor"}) if is_off else frozenset())


def stopped(name: str, location: str = "lake_assets") -> InstigatorState:
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(location), "lake_assets")
    return InstigatorState(
        RemoteInstigatorOrigin(origin, name),
        InstigatorType.SCHEDULE,
        InstigatorStatus.STOPPED,
        ScheduleInstigatorData("* * * * *"),
    )


def located(instance: dg.DagsterInstance, location: str) -> str | None:
    """What a sensor of this code location is asked for."""
    origin = RegisteredCodeLocationOrigin(location)
    return repository_of(
        dg.SensorEvaluationContext(
            instance_ref=None,
            last_tick_completion_time=None,
            last_run_key=None,
            cursor=None,
            repository_name="lake_assets",
            instance=instance,
            code_location_origin=origin,
        )
    )


def ticked(name: str, at: float, location: str = "lake_assets") -> InstigatorState:
    origin = RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(location), "lake_assets")
    return InstigatorState(
        RemoteInstigatorOrigin(origin, name),
        InstigatorType.SENSOR,
        InstigatorStatus.RUNNING,
        SensorInstigatorData(last_tick_timestamp=at, last_tick_start_timestamp=at, cursor="kept"),
    )


def test_sensors_go_on_after_the_clock_was_set_back(instance):
    """Dagster's own measure of when they are due: the time since their last tick."""
    now = time.time()
    ours, due, theirs = (
        ticked("supervisor", now + 86_400),
        ticked("alerts", now + 1),
        ticked("supervisor", now + 86_400, "another"),
    )
    for state in (ours, due, theirs):
        instance.add_instigator_state(state)

    @dg.job
    def streams():
        """Stands for the real one."""

    origin = RemoteJobOrigin(ours.origin.repository_origin, "streams")
    run = instance.create_run_for_job(streams, remote_job_origin=origin)
    assert let_sensors_tick(instance, run, now=now) == ("supervisor",)

    def elapsed(state: InstigatorState) -> float:
        found = instance.get_instigator_state(state.instigator_origin_id, state.selector_id)
        assert found.instigator_data.cursor == "kept"
        return float(get_elapsed(found) or 0)

    assert elapsed(ours) >= 0 > elapsed(theirs)
    assert let_sensors_tick(instance, run, now=now) == ()


def test_a_sensor_has_ticked_of_late_in_its_own_code_location(instance):
    @dg.job
    def streams():
        """Stands for the real one."""

    now = time.time()
    instance.add_instigator_state(ticked("supervisor", now - 30))
    instance.add_instigator_state(ticked("alerts", now - 90))
    instance.add_instigator_state(ticked("theirs", now, "another"))
    instance.add_instigator_state(ticked("off", now).with_status(InstigatorStatus.STOPPED))
    origin = RemoteJobOrigin(ticked("supervisor", now).origin.repository_origin, "streams")
    run = instance.create_run_for_job(streams, remote_job_origin=origin)
    found = {
        name: has_ticked(instance, run, name, now=now, within_s=60)
        for name in ("supervisor", "alerts", "theirs", "off", "unknown")
    }
    assert [name for name, has in found.items() if has] == ["supervisor"]


def test_a_run_of_no_code_location_has_no_sensors(instance):
    @dg.job
    def by_hand():
        """Executed in a process."""

    instance.add_instigator_state(ticked("supervisor", time.time() + 86_400))
    run = instance.create_run_for_job(by_hand)
    assert let_sensors_tick(instance, run, now=time.time()) == ()
    assert not has_ticked(instance, run, "supervisor", now=time.time(), within_s=1e9)


def test_what_is_off_in_one_code_location_is_not_in_another(instance):
    instance.add_instigator_state(stopped("refresh", "one"))
    assert turned_off(instance, located(instance, "one")) == {"refresh"}
    assert turned_off(instance, located(instance, "two")) == frozenset()
    assert repository_of(dg.build_sensor_context(instance=instance)) is None


def test_a_schedule_stays_off_under_a_new_name(instance):
    instance.add_instigator_state(stopped("former", "one"))
    instance.add_instigator_state(stopped("former", "two"))
    one, two = (located(instance, name) for name in ("one", "two"))
    keep_off(instance, one, {"former": "new"})
    assert (turned_off(instance, one), turned_off(instance, two)) == ({"new"}, {"former"})


def test_a_schedule_that_the_daemon_has_noted_stays_off_too(instance):
    instance.add_instigator_state(stopped("former"))
    noted = stopped("new").with_status(InstigatorStatus.DECLARED_IN_CODE)
    instance.add_instigator_state(noted)
    keep_off(instance, None, {"former": "new"})
    assert turned_off(instance, None) == {"new"}


def test_a_schedule_that_a_user_turned_on_again_stays_on(instance):
    instance.add_instigator_state(stopped("former"))
    keep_off(instance, None, {"former": "new"})
    instance.update_instigator_state(stopped("new").with_status(InstigatorStatus.RUNNING))
    keep_off(instance, None, {"former": "new"})
    assert turned_off(instance, None) == frozenset()


@pytest.mark.parametrize(
    ("cron", "last"),
    [
        ("* * * * *", datetime(2026, 1, 1, 11, 59, tzinfo=UTC)),
        ("*/5 * * * *", datetime(2026, 1, 1, 11, 55, tzinfo=UTC)),
        ("30 4 1,15 * *", datetime(2026, 1, 1, 4, 30, tzinfo=UTC)),
        ("0 12 * * *", datetime(2025, 12, 31, 12, 0, tzinfo=UTC)),
    ],
)
def test_a_cron_ticks_by_utc(cron, last):
    before = datetime(2026, 1, 1, 11, 59, 59, tzinfo=UTC).timestamp()
    assert last_tick(cron, before) == last.timestamp()
