import pytest

from lake_assets.lake.catalog import games_of, tables_of
from lake_assets.model.feeds import Route, Unknown
from lake_assets.model.tables import silver_of
from lake_assets_tests.sample import GAMES

CREATES = GAMES.model_copy(
    update={"route": Route(column="game_name", keys=("uno",), unknown=Unknown.CREATE)}
)


@pytest.fixture
def lake(tmp_path):
    for name in ("poker", "uno", "chess"):
        silver_of(name).path(tmp_path).mkdir(parents=True)
    (tmp_path / "silver" / "silver_Bad_events").mkdir()
    (tmp_path / "silver" / ".hidden").write_text("")
    return tmp_path


def test_declared_games_are_a_feeds_games(lake):
    assert games_of(lake, GAMES) == ("uno", "go_fish")


def test_games_that_were_created_come_after_the_declared_ones(lake):
    assert games_of(lake, CREATES) == ("uno", "chess", "poker")


def test_a_lake_that_is_not_there_has_the_declared_games(tmp_path):
    assert games_of(tmp_path / "nowhere", CREATES) == ("uno",)


def test_tables_come_in_the_order_data_travels(lake):
    assert [table.relative for table in tables_of(lake, GAMES)] == [
        "bronze/bronze_games",
        "quarantine/quarantine_games",
        "silver/silver_uno_events",
        "silver/silver_go_fish_events",
        "gold/gold_uno_player_agg",
        "gold/gold_go_fish_player_agg",
    ]
