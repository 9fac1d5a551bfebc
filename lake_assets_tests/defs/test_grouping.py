from lake_assets.defs.grouping import FEED, LAYER, AssetLayer, of_feed, of_lake
from lake_assets.settings.schema import Settings
from lake_assets.settings.upkeep import DagsterSettings
from lake_assets_tests.sample import GAMES


def test_what_is_of_a_feed_is_in_its_group():
    found = of_feed(Settings(), GAMES, AssetLayer.GOLD)
    assert found["group_name"] == "games"
    assert found["tags"] == {FEED: "games", LAYER: "gold"}
    assert found["owners"] == ["team:lake"]


def test_what_is_of_no_feed_has_a_layer_alone():
    sources = of_lake(Settings(), AssetLayer.SOURCE)
    assert (sources["group_name"], sources["tags"]) == ("sources", {LAYER: "source"})
    assert of_lake(Settings(), AssetLayer.MAINTENANCE)["group_name"] == "maintenance"


def test_groups_of_two_lakes_are_told_apart():
    prod = Settings(dagster=DagsterSettings(key_prefix=["prod"], owners=["team:data"]))
    found = of_feed(prod, GAMES, AssetLayer.SILVER)
    assert (found["group_name"], found["owners"]) == ("prod_games", ["team:data"])
    assert found["tags"][FEED] == "games"
