"""Each internal of Dagster that we lean on, so that a change of it is seen here first."""

import dagster as dg
import pytest
from dagster._core.storage import tags

from lake_assets.defs.internals import (
    NO_LIMIT,
    all_of,
    evaluation,
    latest_ids,
    latest_metadata,
    partitioned_check,
)
from lake_assets.model.checks import Severity

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
