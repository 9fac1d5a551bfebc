from datetime import UTC, datetime, timedelta

import dagster as dg
import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.defs.metadata import COLUMNS, COLUMNS_DIGEST, table_metadata
from lake_assets.defs.told_columns import TableEvent, ToldColumns
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of

SILVER, OTHER = dg.AssetKey("silver_events"), dg.AssetKey("gold_player_agg")


def event(key: str | None, digest: str = "one", asset: dg.AssetKey = SILVER) -> TableEvent:
    columns = dg.TableSchema([dg.TableColumn(digest)])
    metadata = {
        COLUMNS: dg.MetadataValue.table_schema(columns),
        COLUMNS_DIGEST: dg.MetadataValue.text(digest),
        "files": dg.MetadataValue.int(1),
    }
    return TableEvent(asset=asset, partition=key, metadata=metadata)


def with_columns(told: ToldColumns, *events: TableEvent) -> list[str | None]:
    found = list(told.materializations(events))
    assert [(e.asset_key, e.partition) for e in found] == [(e.asset, e.partition) for e in events]
    assert all({COLUMNS_DIGEST, "files"} <= set(e.metadata) for e in found)
    return [e.partition for e in found if COLUMNS in e.metadata]


def test_columns_are_told_once_and_when_they_change():
    told = ToldColumns()
    first = [event(key) for key in ("a", "b", "c")]
    assert with_columns(told, *first) == ["a", "b", "c"]
    assert with_columns(told, event("a"), event("b", "two"), event("c")) == ["b", "c"]
    assert with_columns(told, event("a"), event("b", "two"), event("c")) == ["c"]
    assert with_columns(told, event("a"), event("b", "one"), event("c")) == ["b", "c"]


def test_the_newest_event_of_each_asset_has_them_since_its_page_shows_no_other():
    told = ToldColumns()
    events = [event("a"), event("a", asset=OTHER), event("b"), event("b", asset=OTHER), event("c")]
    assert len(with_columns(told, *events)) == len(events)
    assert with_columns(told, *events) == ["b", "c"]
    assert with_columns(told, event(None)) == [None]
    assert with_columns(told, event(None)) == [None]


def test_a_table_without_columns_is_told_of_all_the_same():
    bare = TableEvent(asset=SILVER, partition="a", metadata={})
    (found,) = ToldColumns().materializations([bare])
    assert (found.partition, dict(found.metadata)) == ("a", {})


def test_a_short_run_goes_on_from_what_dagster_has_been_told_today(instance):
    now = datetime.now(UTC)
    stored = [event("a"), event("b", "two"), event("z")]
    for found in ToldColumns().materializations(stored):
        instance.report_runless_asset_event(found)
    instance.report_runless_asset_event(dg.AssetMaterialization(SILVER, partition="c"))
    keys = ["a", "b", "c", "d", "z"]

    def look(at: datetime) -> list[str | None]:
        told = ToldColumns()
        told.look_up(instance, SILVER, keys, now=at)
        return with_columns(told, *(event(key) for key in keys))

    assert look(now) == ["b", "c", "d", "z"]
    assert look(now + timedelta(days=1)) == keys
    assert look(now - timedelta(days=1)) == keys


def test_columns_that_change_have_another_digest(tmp_path):
    silver, lake = silver_of("uno"), LocalStore.at(tmp_path)
    place = tmp_path / silver.relative

    def digest():
        return table_metadata(lake, silver)[COLUMNS_DIGEST].value

    write_deltalake(place, pa.table({"n": [1]}))
    before = digest()
    write_deltalake(place, pa.table({"n": [2]}), mode="append")
    assert digest() == before
    write_deltalake(place, pa.table({"m": [2]}), mode="append", schema_mode="merge")
    assert digest() != before
