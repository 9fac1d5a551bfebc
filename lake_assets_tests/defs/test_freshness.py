import time
from datetime import timedelta

import dagster as dg

from lake_assets.defs.bronze import build as build_bronze
from lake_assets.defs.freshness import NOTHING_NEW, freshness_policy, renewed
from lake_assets.defs.silver import build as build_silver
from lake_assets.settings.upkeep import DagsterSettings
from lake_assets_tests.sample import GAMES

HOUR = timedelta(hours=1)
HOURLY = GAMES.model_copy(update={"feed": "hourly", "run": "0 * * * *"})
BRONZE = dg.AssetKey("bronze_games")


def policy_of(definitions, name):
    return definitions.resolve_asset_graph().get(dg.AssetKey(name)).freshness_policy


def test_bronze_and_silver_that_streams_fill_have_a_policy(settings):
    wanted = dg.FreshnessPolicy.time_window(fail_window=HOUR, warn_window=HOUR / 2)
    assert policy_of(build_bronze(settings, [GAMES]), "bronze_games") == wanted
    assert policy_of(build_silver(settings, [GAMES]), "silver_events") == wanted


def test_a_feed_with_runs_has_none_unless_it_asks_for_one(settings):
    assert freshness_policy(settings, [HOURLY]) is None
    asked = HOURLY.model_copy(update={"freshness": 26 * HOUR})
    assert freshness_policy(settings, [asked]).fail_window.to_timedelta() == 26 * HOUR


def test_it_can_be_turned_off(settings):
    off = settings.model_copy(update={"dagster": DagsterSettings(fresh_within_s=0)})
    assert freshness_policy(off, [GAMES]) is None


def test_of_tables_that_several_feeds_fill_the_shortest_counts(settings):
    other = GAMES.model_copy(update={"feed": "other", "freshness": 2 * HOUR})
    assert freshness_policy(settings, [other]).fail_window.to_timedelta() == 2 * HOUR
    assert freshness_policy(settings, [other, GAMES]).fail_window.to_timedelta() == HOUR


def test_an_idle_table_is_told_of_before_dagster_would_warn(instance):
    assert renewed(instance, BRONZE, HOUR, time.time()) is None, "nothing is there yet"
    metadata = {"delta_version": 7, "dagster/row_count": 5, "rows_added": 5}
    instance.report_runless_asset_event(dg.AssetMaterialization(BRONZE, metadata=metadata))
    now = time.time()
    assert renewed(instance, BRONZE, HOUR, now + 60) is None
    event = renewed(instance, BRONZE, HOUR, now + 1700)
    shown = {name: value.value for name, value in event.metadata.items()}
    assert shown[NOTHING_NEW] is True
    assert (shown["delta_version"], shown["dagster/row_count"]) == (7, 5)
    assert (shown["rows_added"], shown["lag_rows"]) == (0, 0)


def test_of_a_key_nothing_is_said_of_all(instance):
    silver = dg.AssetKey("silver_events")
    told = dg.AssetMaterialization(silver, partition="uno", metadata={"delta_version": 7})
    instance.report_runless_asset_event(told)
    event = renewed(instance, silver, HOUR, time.time() + 1700)
    assert event.partition is None
    assert "delta_version" not in event.metadata
