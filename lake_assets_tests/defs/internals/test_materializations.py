import dagster as dg

from lake_assets.defs.internals.materializations import latest_id, latest_ids

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
