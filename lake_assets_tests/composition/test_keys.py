import dagster as dg
import pytest

from lake_assets import bronze_key, build_defs, gold_key, partitions_of, silver_key
from lake_assets.errors import FeedError, SettingsError


def text(key: dg.AssetKey) -> str:
    return key.to_user_string()


def test_names_are_those_of_the_lake_that_is_built(tmp_path):
    made = build_defs(lake=tmp_path / "lake", key_prefix="prod", include={"assets"})
    names = [
        bronze_key("fitness"),
        silver_key("games"),
        silver_key("fitness"),
        gold_key("games", "player_agg"),
        gold_key("fitness", "heart_rate_by_model"),
    ]
    assert [text(name) for name in names] == [
        "prod/bronze_fitness",
        "prod/silver_events",
        "prod/silver_fitness_events",
        "prod/gold_player_agg",
        "prod/gold_fitness_heart_rate_by_model",
    ]
    graph = made.resolve_asset_graph()
    assert set(names) <= graph.get_all_asset_keys()
    for feed, key in (("games", silver_key("games")), ("fitness", silver_key("fitness"))):
        assert graph.get(key).partitions_def == partitions_of(feed)
        assert partitions_of(feed, lake=tmp_path / "lake") == partitions_of(feed)


def test_names_of_a_lake_that_is_built_elsewhere_need_no_feeds(tmp_path):
    assert text(gold_key("shop", "sums", key_prefix=["prod", "eu"])) == "prod/eu/gold_shop_sums"
    assert text(silver_key("games", key_prefix=[])) == "silver_events"
    there = partitions_of("shop", lake=tmp_path / "lake")
    assert there == partitions_of("shop", lake=tmp_path / "lake")
    assert there != partitions_of("shop", lake=tmp_path / "other")


def test_a_name_that_the_lake_does_not_have_is_refused(tmp_path):
    build_defs(lake=tmp_path / "lake", include={"alerts"})
    with pytest.raises(FeedError, match=r"feed 'gamse': is not declared. Use one of: fit"):
        gold_key("gamse", "player_agg")
    with pytest.raises(FeedError, match=r"has no gold view 'x'. Its views are: player_agg, daily"):
        gold_key("games", "x")


def test_a_name_may_be_asked_for_first_where_the_environment_says_the_same(monkeypatch):
    monkeypatch.setenv("LAKE_ASSETS_DAGSTER_KEY_PREFIX", "prod")
    assert text(gold_key("games", "player_agg")) == "prod/gold_player_agg"
    early = partitions_of("games")
    build_defs(include={"alerts"})
    assert partitions_of("games") == early


def test_a_name_that_was_asked_for_first_and_is_another_is_told_of(tmp_path):
    gold_key("games", "player_agg")
    told = r"gold_key\('games', 'player_agg'\): was asked for before .* gave gold_player_agg; now"
    with pytest.raises(SettingsError, match=told):
        build_defs(lake=tmp_path / "lake", key_prefix="prod", include={"alerts"})


def test_the_prefix_of_a_lake_that_is_not_here_has_no_partitions():
    with pytest.raises(SettingsError, match=r"no lake with the prefix prod is built here"):
        partitions_of("games", key_prefix="prod")


@pytest.mark.parametrize(
    "ask",
    [
        lambda _: gold_key("games", "playr_agg", key_prefix="prod"),
        lambda _: silver_key("gmaes", key_prefix=["prod"]),
        lambda lake: partitions_of("gmaes", lake=lake),
    ],
)
def test_a_name_asked_for_first_is_looked_up_in_the_lake_that_it_says(tmp_path, ask):
    lake = tmp_path / "lake"
    build_defs(lake=tmp_path / "other", key_prefix="dev", include={"alerts"})
    ask(lake)
    build_defs(lake=tmp_path / "third", key_prefix="third", include={"alerts"})
    with pytest.raises(SettingsError, match=r"was asked for before .*lake \(prefix prod\) was"):
        build_defs(lake=lake, key_prefix="prod", include={"alerts"})
