"""Each internal of Dagster that we lean on, so that a change of it is seen here first."""

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
from dagster._core.storage import tags
from dagster._daemon.sensor import get_elapsed

from lake_assets.defs.internals import (
    NO_LIMIT,
    all_of,
    check_results,
    evaluation,
    keep_off,
    last_evaluation,
    last_tick,
    latest_ids,
    latest_metadata,
    let_sensors_tick,
    partitioned_check,
    repository_of,
    turned_off,
)
from lake_assets.model.checks import Severity
from lake_assets_tests.defs.origins import instigator

SILVER = dg.AssetKey("silver_events")
GAMES = dg.DynamicPartitionsDefinition(name="games")
CHECK = dg.AssetCheckKey(SILVER, "known")


@pytest.fixture
def instance(stored):
    return stored


@pytest.fixture
def report(instance):
    """Materializes a game and reports its check, as the streams do."""

    def run(key: str, *, rows: int, passed: bool, names_target: bool = True) -> None:
        @dg.op(out={})
        def stream(context: dg.OpExecutionContext):
            yield dg.AssetMaterialization(SILVER, partition=key, metadata={"rows": rows})
            ids = latest_ids(context.instance, SILVER, [key])
            yield evaluation(
                check=CHECK,
                partition=key,
                run_id=context.run.run_id,
                storage_id=ids[key] if names_target else None,
                severity=None if passed else Severity.ERROR,
                metadata={"rows_seen": dg.MetadataValue.int(rows)},
            )

        @dg.job(executor_def=dg.in_process_executor)
        def streams():
            stream()

        instance.add_dynamic_partitions("games", [key])
        assert streams.execute_in_process(instance=instance).success

    return run


def results(instance: dg.DagsterInstance) -> dict[str | None, tuple[str, bool]]:
    found = instance.event_log_storage.get_asset_check_partition_info([CHECK])
    return {
        info.partition_key: (
            info.latest_execution_status.value,
            info.is_current,
        )
        for info in found
    }


def test_a_partitioned_check_is_declared_without_a_warning():
    spec = partitioned_check("known", SILVER, GAMES, "words")
    assert (spec.key, spec.partitions_def) == (CHECK, GAMES)


def test_materializations_and_checks_of_a_plain_op_are_stored_by_partition(instance, report):
    report("uno", rows=3, passed=True)
    report("poker", rows=4, passed=False)
    assert set(latest_ids(instance, SILVER, ["uno", "poker", "chess"])) == {"uno", "poker"}
    assert set(latest_ids(instance, SILVER, ["uno"])) == {"uno"}
    assert latest_ids(instance, SILVER, []) == {}
    assert results(instance) == {"uno": ("SUCCEEDED", True), "poker": ("FAILED", True)}


def test_a_result_without_its_target_is_cleared(instance, report):
    report("uno", rows=3, passed=True, names_target=False)
    assert results(instance) == {"uno": ("SUCCEEDED", False)}


def test_the_latest_metadata_is_that_of_the_partition(instance, report):
    assert latest_metadata(instance, SILVER, "uno") == {}
    report("uno", rows=3, passed=True)
    report("poker", rows=4, passed=True)
    assert latest_metadata(instance, SILVER, "uno") == {"rows": dg.MetadataValue.int(3)}
    assert latest_metadata(instance, SILVER, None) == {"rows": dg.MetadataValue.int(4)}


def test_our_tags_are_those_that_dagster_reads():
    assert all_of(["a", "b", "c"]) == {
        tags.ASSET_PARTITION_RANGE_START_TAG: "a",
        tags.ASSET_PARTITION_RANGE_END_TAG: "c",
    }
    assert NO_LIMIT == {tags.MAX_RUNTIME_SECONDS_TAG: "0"}


def test_a_partitions_check_passes_or_fails(instance, report):
    assert check_results(instance, [CHECK]) == {}
    report("uno", rows=3, passed=True)
    report("poker", rows=4, passed=False)
    assert check_results(instance, [CHECK]) == {(CHECK, "uno"): True, (CHECK, "poker"): False}
    report("poker", rows=5, passed=True)
    assert check_results(instance, [CHECK])[CHECK, "poker"] is True


def test_a_result_that_is_outdated_says_nothing(instance, report):
    report("uno", rows=3, passed=False)
    instance.report_runless_asset_event(dg.AssetMaterialization(SILVER, partition="uno"))
    assert check_results(instance, [CHECK]) == {(CHECK, "uno"): None}


def test_a_result_that_is_on_its_way_says_nothing(instance):
    @dg.asset_check(asset=SILVER, name="known")
    def known() -> dg.AssetCheckResult:
        states.append(check_results(instance, [CHECK]))
        return dg.AssetCheckResult(passed=False)

    states: list[object] = []
    defs = dg.Definitions(
        asset_checks=[known],
        jobs=[dg.define_asset_job("checks", dg.AssetSelection.all_asset_checks())],
    )
    assert defs.resolve_job_def("checks").execute_in_process(instance=instance).success
    assert states == [{(CHECK, None): None}]
    assert check_results(instance, [CHECK]) == {(CHECK, None): False}


def test_the_last_evaluation_is_that_of_the_partition(instance, report):
    assert last_evaluation(instance, CHECK, "uno") is None
    began = time.time()
    report("uno", rows=3, passed=False)
    report("poker", rows=4, passed=False)
    found, at = last_evaluation(instance, CHECK, "uno") or (None, 0.0)
    assert (found.partition, found.severity) == ("uno", dg.AssetCheckSeverity.ERROR)
    assert found.metadata == {"rows_seen": dg.MetadataValue.int(3)}
    assert began <= at <= time.time()


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


def test_a_run_of_no_code_location_has_no_sensors(instance):
    @dg.job
    def by_hand():
        """Executed in a process."""

    instance.add_instigator_state(ticked("supervisor", time.time() + 86_400))
    run = instance.create_run_for_job(by_hand)
    assert let_sensors_tick(instance, run, now=time.time()) == ()


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
