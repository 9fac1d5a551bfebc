import dagster as dg
import pytest

from lake_assets.defs.keys import (
    bronze_key,
    ensure_unique,
    gold_key,
    identifier_of,
    key_partitions,
    key_pattern,
    named,
    quarantine_key,
    silver_key,
    source_keys,
)
from lake_assets.errors import FeedError
from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import FilesSource
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.settings.schema import Settings
from lake_assets.settings.upkeep import DagsterSettings
from lake_assets_tests.sample import GAMES, WITHOUT_ROUTE

SETTINGS = Settings()
FITNESS = GAMES.model_copy(update={"feed": "fitness"})


def keys(feed: Feed) -> list[str]:
    found = [
        bronze_key(SETTINGS, feed),
        quarantine_key(SETTINGS, feed),
        silver_key(SETTINGS, feed),
        gold_key(SETTINGS, feed, feed.gold[0]),
    ]
    return [key.to_user_string() for key in found]


def test_the_feed_that_ships_has_plain_keys():
    assert keys(GAMES) == ["bronze_games", "quarantine_games", "silver_events", "gold_player_agg"]


def test_another_feed_has_its_name_in_its_keys():
    assert keys(FITNESS) == [
        "bronze_fitness",
        "quarantine_fitness",
        "silver_fitness_events",
        "gold_fitness_player_agg",
    ]


def test_a_topic_is_called_as_in_kafka_as_far_as_dagster_lets_it():
    assert source_keys(SETTINGS, GAMES, ()) == {"game-stream": dg.AssetKey("game_stream")}


def of_topics(topics):
    return GAMES.model_copy(update={"source": Source(kafka=KafkaSource(topics=topics))})


def test_each_of_several_topics_is_called_so_and_a_pattern_as_its_feed():
    several = source_keys(SETTINGS, of_topics(["starts", "b.c"]), {dg.AssetKey("starts")})
    assert several == {"starts": dg.AssetKey("kafka_starts"), "b.c": dg.AssetKey("b_c")}
    assert source_keys(SETTINGS, of_topics("g.*"), ()) == {"g.*": dg.AssetKey("sources_of_games")}


def test_a_delta_table_is_called_as_its_feed():
    feed = GAMES.model_copy(update={"source": Source(delta=DeltaSource(path="/data/orders"))})
    assert source_keys(SETTINGS, feed, ()) == {"table": dg.AssetKey("delta_of_games")}


def test_a_table_of_postgresql_is_called_as_its_feed():
    declared = {"url": "postgresql://db/b", "table": "t", "watermark": "w", "key": ["k"]}
    feed = GAMES.model_copy(update={"source": Source(postgres=PostgresSource(**declared))})
    assert source_keys(SETTINGS, feed, ()) == {"table": dg.AssetKey("postgres_of_games")}


def test_partitions_are_called_as_the_feed_and_belong_to_a_lake():
    assert key_partitions(FITNESS, "a").name == "fitness_a"


def test_two_feeds_with_different_names_go_together():
    ensure_unique(SETTINGS, [GAMES, FITNESS])


def test_two_assets_of_one_name_are_refused():
    view = GAMES.gold[0].model_copy(update={"name": "fitness_player_agg"})
    keys = GAMES.model_copy(update={"gold": (view,)})
    with pytest.raises(FeedError, match=r"gold_fitness_player_agg .* of feed 'games'. Rename"):
        ensure_unique(SETTINGS, [keys, FITNESS])


def test_a_key_stands_for_itself_where_it_is_the_only_one():
    assert (key_pattern(GAMES), key_pattern(WITHOUT_ROUTE)) == ("{key}", "clicks")


def test_files_of_each_feed_are_an_asset_of_their_own():
    source = Source(files=FilesSource(path="/data", format="jsonl"))
    feed = GAMES.model_copy(update={"source": source})
    assert source_keys(SETTINGS, feed, ()) == {"files": dg.AssetKey("files_of_games")}
    taken = {dg.AssetKey("files_of_games")}
    assert source_keys(SETTINGS, feed, taken) == {"files": dg.AssetKey("files_files_of_games")}


def test_a_prefix_comes_before_all_keys_and_names():
    prefixed = Settings(dagster=DagsterSettings(key_prefix=["prod", "eu"]))
    assert silver_key(prefixed, FITNESS).path == ["prod", "eu", "silver_fitness_events"]
    assert source_keys(prefixed, GAMES, ()) == {
        "game-stream": dg.AssetKey(["prod", "eu", "game_stream"])
    }
    assert named(prefixed, "streams") == "prod_eu_streams"
    assert named(SETTINGS, "streams") == "streams"
    assert identifier_of(silver_key(prefixed, GAMES)) == "prod_eu_silver_events"
