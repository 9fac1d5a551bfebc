import dagster as dg

from lake_assets.defs.sources import build, keys_of_sources
from lake_assets.model.sources import KafkaSource, Source
from lake_assets_tests.sample import GAMES

TWIN = GAMES.model_copy(update={"feed": "twin"})


def test_feeds_that_read_one_topic_share_its_asset(settings):
    found = build(settings, [GAMES, TWIN]).resolve_asset_graph()
    assert found.get_all_asset_keys() == {dg.AssetKey("game_stream")}


def test_a_source_has_the_same_key_whether_its_feed_is_asked_alone_or_beside_others(settings):
    """Its name is another feed's asset's, so it has its kind before."""
    odd = GAMES.model_copy(
        update={"feed": "odd", "source": Source(kafka=KafkaSource(topic="bronze_games"))}
    )
    beside = odd.beside([GAMES, odd])
    alone = keys_of_sources(settings, [beside])["odd"]
    assert alone == {"bronze_games": dg.AssetKey("kafka_bronze_games")}
    assert keys_of_sources(settings, [GAMES, beside])["odd"] == alone
