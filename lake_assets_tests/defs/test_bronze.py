from typing import Any

import dagster as dg

from lake_assets.defs import sources
from lake_assets.defs.bronze import build
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets_tests.sample import GAMES


def specs(settings: Settings, *feeds: Feed) -> dict[str, Any]:
    made = dg.Definitions.merge(sources.build(settings, feeds), build(settings, feeds))
    graph = made.resolve_asset_graph()
    return {key.to_user_string(): graph.get(key) for key in graph.get_all_asset_keys()}


def test_bronze_comes_from_the_topic(settings):
    found = specs(settings, GAMES)
    assert set(found) == {"game_stream", "bronze_games"}
    assert found["bronze_games"].parent_keys == {found["game_stream"].key}
    assert found["game_stream"].kinds == {"kafka"}


def test_two_feeds_may_read_one_topic(settings):
    fitness = GAMES.model_copy(update={"feed": "fitness"})
    assert set(specs(settings, GAMES, fitness)) == {
        "game_stream",
        "bronze_games",
        "bronze_fitness",
    }
