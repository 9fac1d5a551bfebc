import time

import dagster as dg
import pytest

from lake_assets.defs.internals.asset_checks import (
    check_results,
    declared_checks,
    evaluation,
    last_evaluation,
    partitioned_check,
)
from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.model.checks import Severity

SILVER = dg.AssetKey("silver_events")
GAMES = dg.DynamicPartitionsDefinition(name="games")
CHECK = dg.AssetCheckKey(SILVER, "known")


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


def test_checks_of_a_plain_op_are_stored_by_partition(instance, report):
    report("uno", rows=3, passed=True)
    report("poker", rows=4, passed=False)
    assert results(instance) == {"uno": ("SUCCEEDED", True), "poker": ("FAILED", True)}


def test_a_result_without_its_target_is_cleared(instance, report):
    report("uno", rows=3, passed=True, names_target=False)
    assert results(instance) == {"uno": ("SUCCEEDED", False)}


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


def test_a_sensor_knows_the_checks_of_its_code_location(instance):
    @dg.asset_check(asset=SILVER, name="known")
    def known() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    @dg.asset_check(asset=SILVER, name="fresh")
    def fresh() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    definitions = dg.Definitions(asset_checks=[known, fresh])
    context = dg.build_sensor_context(instance=instance, definitions=definitions)
    assert declared_checks(context) == [dg.AssetCheckKey(SILVER, "fresh"), CHECK]
    assert declared_checks(dg.build_sensor_context(instance=instance)) == []
