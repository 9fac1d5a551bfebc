import shutil
from dataclasses import replace

import pytest
from deltalake import DeltaTable

from lake_assets.delta.refresh_position import Position
from lake_assets.gold.refresh import refresh
from lake_assets.gold.sql_views import refresh_sql_views
from lake_assets.gold.view_snapshot import view_snapshot_of
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import Mode
from lake_assets.model.tables import EVERY_KEY
from lake_assets.settings.spark import SparkSettings
from lake_assets.spark.lake_context import open_lake
from lake_assets.spark.session_digest import session_digest
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES, silver_of
from lake_assets_tests.table_logs import commit_file

VIEW = GoldView(name="player_agg", keys=("gamer_id",), measures={"n": "count(*)"})
BY_SPARK = GoldView(name="by_spark", keys=("gamer_id",), measures={"n": "count_if(true)"})
SHARES = GoldView(
    name="shares", sql="select gamer_id, count(*) as n from silver_all group by gamer_id"
)
CHANGED_ZONE = "America/New_York"


@pytest.fixture
def silver(lake):
    return lake / silver_of("uno").relative


@pytest.fixture
def bring(spark, settings):
    """Refreshes a view as a command does, which opens the lake again, and says how it went."""

    def run(view):
        feed = GAMES.model_copy(update={"gold": (view,)})
        act = refresh if view.sql is None else refresh_sql_views
        with open_lake(settings) as context:
            return act(spark, feed, view, ["uno"], context).refreshed

    return run


def counts(lake, view):
    table = lake / GAMES.gold_table(view, EVERY_KEY if view.is_over_all else "uno").relative
    return {row["gamer_id"]: row["n"] for row in DeltaTable(table).to_pyarrow_table().to_pylist()}


def put_back(folder, backup):
    shutil.rmtree(folder)
    shutil.copytree(backup, folder)


def test_a_game_is_read_at_the_version_that_its_gold_stands_for(context, lake, silver):
    add_silver(lake, "uno", "ann")
    add_silver(lake, "uno", "ann")
    position = Position(silver_version=0, definition="")
    source = view_snapshot_of(GAMES, VIEW, "uno", (1, "id"), (3, position), context)
    assert source.commit_read not in {"", source.silver.commit}
    commit_file(silver, 0).unlink()
    assert view_snapshot_of(GAMES, VIEW, "uno", (1, "id"), (3, position), context).commit_read == ""


@pytest.mark.spark
@pytest.mark.parametrize("view", [VIEW, BY_SPARK, SHARES], ids=lambda view: view.name)
@pytest.mark.parametrize("appended", [("bob",), ("bob", "cid", "dan")], ids=["same", "later"])
def test_silver_put_back_from_a_copy_and_appended_to_again_is_noticed(
    bring, lake, silver, tmp_path, view, appended
):
    add_silver(lake, "uno", "ann")
    shutil.copytree(silver, tmp_path / "backup")
    add_silver(lake, "uno", "lost")
    bring(view)
    put_back(silver, tmp_path / "backup")
    for second, gamer in enumerate(appended, start=10):
        add_silver(lake, "uno", gamer, start=second)
    (found,) = bring(view)
    assert counts(lake, view) == dict.fromkeys(("ann", *appended), 1)
    assert found.mode is Mode.FULL
    reason = "a query" if view.sql else "silver was restored: its version 1 is another one now"
    assert found.why.startswith(reason)
    assert bring(view) == ()


@pytest.mark.spark
@pytest.mark.parametrize("view", [VIEW, SHARES], ids=lambda view: view.name)
def test_silver_restored_by_delta_is_noticed(bring, lake, silver, view):
    add_silver(lake, "uno", "ann")
    add_silver(lake, "uno", "lost")
    bring(view)
    DeltaTable(silver).restore(0)
    add_silver(lake, "uno", "bob")
    (found,) = bring(view)
    assert found.mode is Mode.FULL
    assert counts(lake, view) == {"ann": 1, "bob": 1}


@pytest.mark.spark
def test_a_version_that_silvers_log_forgot_is_not_merged_from(bring, lake, silver):
    add_silver(lake, "uno", "ann")
    bring(VIEW)
    add_silver(lake, "uno", "ann")
    DeltaTable(silver).create_checkpoint()
    commit_file(silver, 0).unlink()
    (found,) = bring(VIEW)
    assert (found.mode, found.why) == (Mode.FULL, "silver's log has no version 0 any more")
    assert counts(lake, VIEW) == {"ann": 2}


@pytest.mark.spark
def test_another_time_zone_recomputes_a_view(spark, settings, context, lake):
    view = GoldView(name="by_day", keys={"day": "to_date(event_timestamp)"}, measures=VIEW.measures)
    add_silver(lake, "uno", "ann", start=3600)
    refresh(spark, GAMES, view, ["uno"], context)
    add_silver(lake, "uno", "ann", start=7200)
    zone = {"spark.sql.session.timeZone": CHANGED_ZONE}
    digest = session_digest(settings.model_copy(update={"spark": SparkSettings(conf=zone)}))
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", CHANGED_ZONE)
    (found,) = refresh(elsewhere, GAMES, view, ["uno"], replace(context, session=digest)).refreshed
    assert found.mode is Mode.FULL
    table = DeltaTable(lake / GAMES.gold_table(view, "uno").relative).to_pyarrow_table()
    assert [(str(row["day"]), row["n"]) for row in table.to_pylist()] == [("1969-12-31", 2)]
