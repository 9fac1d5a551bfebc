import pyarrow as pa

from lake_assets.bronze.rows import SCHEMA
from lake_assets.lake.means import lake_means
from lake_assets.model.tables import bronze_of, silver_of
from lake_assets.streams.overview import overview
from lake_assets_tests.sample import GAMES


def names_of(settings):
    return [table.table.name for table in overview(settings, GAMES, None)]


def test_an_empty_lake_has_no_tables(settings):
    assert names_of(settings) == []


def test_a_game_that_the_feed_does_not_declare_is_shown_all_the_same(settings):
    with lake_means(settings) as means:
        means.door.create({bronze_of("games"): SCHEMA})
        means.door.create({silver_of("chess"): pa.schema([("gamer_id", pa.string())])})
    assert names_of(settings) == ["bronze_games", "silver_chess_events"]


def test_without_a_broker_bronze_has_no_known_lag(settings):
    with lake_means(settings) as means:
        means.door.create({bronze_of("games"): SCHEMA})
    assert [table.lag_rows for table in overview(settings, GAMES, None)] == [None]
