"""Each internal of Dagster that we lean on, so that a change of it is seen here first."""

import time
from datetime import UTC, datetime

import dagster as dg
import pytest
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
from dagster._core.storage import tags

from lake_assets.defs.internals import (
    NO_LIMIT,
    all_of,
    check_results,
    evaluation,
    last_evaluation,
    last_tick,
    latest_ids,
    latest_metadata,
    partitioned_check,
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

    def run(game: str, *, rows: int, passed: bool, names_target: bool = True) -> None:
        @dg.op(out={})
        def stream(context: dg.OpExecutionContext):
            yield dg.AssetMaterialization(SILVER, partition=game, metadata={"rows": rows})
            ids = latest_ids(context.instance, SILVER)
            yield evaluation(
                check=CHECK,
                partition=game,
                run_id=context.run.run_id,
                storage_id=ids[game] if names_target else None,
                severity=None if passed else Severity.ERROR,
                metadata={"rows_seen": dg.MetadataValue.int(rows)},
            )

        @dg.job(executor_def=dg.in_process_executor)
        def streams():
            stream()

        instance.add_dynamic_partitions("games", [game])
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
    assert set(latest_ids(instance, SILVER)) == {"uno", "poker"}
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
    assert turned_off(instance) == (frozenset({"supervisor"}) if is_off else frozenset())


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
