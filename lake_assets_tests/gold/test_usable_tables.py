"""Silver and gold that Spark SQL changed, for real, and what a refresh makes of them."""

import pytest
from deltalake import DeltaTable

from lake_assets.errors import ConstraintViolatedError, TableFeatureError
from lake_assets.gold.refresh import refresh
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Mode
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES, gold_of, silver_of

pytestmark = pytest.mark.spark

GAME_NAMES = ("uno", "go_fish")

VIEW = GoldView(name="agg", keys=("gamer_id",), measures={"session_count": "count(*)"})


@pytest.fixture
def bring(spark, context):
    return lambda: refresh(spark, GAMES, VIEW, GAME_NAMES, context)


def gold(lake, key):
    return DeltaTable(lake / gold_of(key, VIEW.name).relative)


def rows(lake, key):
    found = gold(lake, key).to_pyarrow_table(columns=["gamer_id", "session_count"])
    return sorted(tuple(row.values()) for row in found.to_pylist())


@pytest.fixture
def alter(spark, lake):
    """Runs Spark SQL as a user would, on a table at its path."""

    def run(table, *statements):
        for statement in statements:
            spark.sql(statement.format(t=f"delta.`{lake / table.relative}`"))

    return run


def test_a_person_deleted_through_spark_is_in_no_view_any_more(bring, lake, alter):
    add_silver(lake, "uno", "ann", "bob", "ann")
    add_silver(lake, "go_fish", "ann")
    bring()
    alter(
        silver_of("uno"),
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "DELETE FROM {t} WHERE gamer_id = 'ann'",
    )
    (found,) = bring().refreshed
    assert (found.mode, found.rows_read) == (Mode.FULL, 1)
    assert [row[0] for row in rows(lake, "uno")] == ["bob"]
    add_silver(lake, "uno", "cid", start=20)
    (found,) = bring().refreshed
    assert (found.mode, found.rows_read) == (Mode.INCREMENTAL, 1)
    assert [row[0] for row in rows(lake, "uno")] == ["bob", "cid"]
    assert [row[0] for row in rows(lake, "go_fish")] == ["ann"]


def test_rows_deleted_from_a_view_itself_come_back_whole(bring, spark, lake, alter):
    add_silver(lake, "uno", "ann", "bob")
    bring()
    table = gold_of("uno", VIEW.name)
    alter(
        table,
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
        "DELETE FROM {t} WHERE gamer_id = 'ann'",
    )
    add_silver(lake, "uno", "cid", start=20)
    bring()
    bring()
    found = spark.read.format("delta").load(str(lake / table.relative)).collect()
    assert sorted(row.gamer_id for row in found) == ["ann", "bob", "cid"]


def test_silver_whose_columns_were_renamed_is_refused_and_gold_is_left(bring, lake, alter):
    add_silver(lake, "uno", "ann")
    bring()
    before = gold(lake, "uno").version()
    alter(
        silver_of("uno"),
        "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
        "ALTER TABLE {t} RENAME COLUMN device_id TO device",
    )
    with pytest.raises(TableFeatureError, match=r"silver_uno_events: has .* columnMapping.*DROP"):
        bring()
    assert gold(lake, "uno").version() == before


def test_a_view_that_is_append_only_is_refused_before_anything_is_written(bring, lake, alter):
    add_silver(lake, "uno", "ann")
    bring()
    folder = lake / gold_of("uno", VIEW.name).relative
    alter(gold_of("uno", VIEW.name), "ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly'=true)")
    before = sorted(folder.rglob("*"))
    add_silver(lake, "uno", "bob", start=10)
    with pytest.raises(TableFeatureError, match=r"gold_uno_agg: .* appendOnly"):
        bring()
    assert sorted(folder.rglob("*")) == before


def test_a_view_keeps_its_checks(spark, settings, lake, alter):
    def run():
        with open_lake(settings, spark) as context:
            return refresh(spark, GAMES, VIEW, GAME_NAMES, context)

    add_silver(lake, "uno", "ann")
    run()
    check = "ALTER TABLE {t} ADD CONSTRAINT few CHECK (session_count < 3)"
    alter(gold_of("uno", VIEW.name), check)
    add_silver(lake, "uno", "bob", start=10)
    run()
    before = gold(lake, "uno").version()
    add_silver(lake, "uno", "bob", "bob", start=20)
    with pytest.raises(ConstraintViolatedError, match="1 new rows violate its constraint 'few'"):
        run()
    assert gold(lake, "uno").version() == before
    assert rows(lake, "uno") == [("ann", 1), ("bob", 1)]
