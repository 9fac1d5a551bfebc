import dagster as dg

from lake_assets.defs.internals.materializations import (
    latest_id,
    latest_ids,
    latest_materializations,
    plan_materialization,
)

SILVER = dg.AssetKey("silver_events")


def test_the_latest_ids_are_those_of_the_partitions(instance):
    assert latest_ids(instance, SILVER, ["uno"]) == {}
    for key in ("uno", "poker", "uno"):
        instance.report_runless_asset_event(dg.AssetMaterialization(SILVER, partition=key))
    newest = {
        key: instance.fetch_materializations(
            dg.AssetRecordsFilter(asset_key=SILVER, asset_partitions=[key]), limit=1
        )
        .records[0]
        .storage_id
        for key in ("uno", "poker")
    }
    assert latest_ids(instance, SILVER, ["uno", "poker", "chess"]) == newest
    assert set(latest_ids(instance, SILVER, ["uno"])) == {"uno"}
    assert latest_ids(instance, SILVER, []) == {}
    assert latest_id(instance, SILVER) == max(newest.values())


def test_an_asset_that_was_never_materialized_has_no_id(instance):
    assert latest_id(instance, SILVER) is None


def test_the_latest_materializations_are_those_of_the_partitions(instance):
    assert latest_materializations(instance, SILVER, ["uno"]) == {}
    for key, rows in (("uno", 1), ("poker", 2), ("uno", 3), ("chess", 4)):
        event = dg.AssetMaterialization(SILVER, partition=key, metadata={"rows": rows})
        instance.report_runless_asset_event(event)
    found = latest_materializations(instance, SILVER, ["uno", "poker", "go"])
    assert {key: latest.event.metadata["rows"].value for key, latest in found.items()} == {
        "uno": 3,
        "poker": 2,
    }
    newest = instance.fetch_materializations(SILVER, limit=1).records[0].timestamp
    assert newest - 60 < found["uno"].timestamp <= newest


def test_a_plan_is_of_a_partition_that_the_run_need_not_name(instance):
    keys = dg.StaticPartitionsDefinition(["uno", "chess", "poker"])

    @dg.multi_asset(specs=[dg.AssetSpec(SILVER, skippable=True)], partitions_def=keys)
    def refresh(context):
        plan_materialization(context, SILVER, "poker")
        yield dg.AssetMaterialization(SILVER, partition="poker")

    job = dg.Definitions(assets=[refresh]).resolve_implicit_global_asset_job_def()
    done = job.execute_in_process(instance=instance, partition_key="uno")
    assert done.success
    kind = dg.DagsterEventType.ASSET_MATERIALIZATION_PLANNED
    plans = instance.get_records_for_run(done.run_id, of_type=kind).records
    assert {plan.partition_key for plan in plans} == {"uno", "poker"}
    assert {plan.event_log_entry.step_key for plan in plans} == {"refresh"}
