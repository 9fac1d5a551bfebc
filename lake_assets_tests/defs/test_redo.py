import dagster as dg
import pytest

from lake_assets.defs.redo import job
from lake_assets.errors import FeedError, SettingsError, StreamError
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES


@pytest.fixture
def rebuild(settings, instance):
    """Runs the job with what a user typed into its form."""

    def run(**typed):
        config = {"ops": {"run_rebuild": {"config": typed}}}
        return job(settings, [GAMES]).execute_in_process(run_config=config, instance=instance)

    return run


@pytest.mark.spark
def test_gold_is_computed_anew_for_the_games_that_are_asked_for(rebuild, settings):
    for game in ("uno", "go_fish"):
        add_silver(settings.lake_dir, game, "ann")
    for _ in range(2):
        done = rebuild(layer="GOLD", games=["uno"])
        events = [
            event.step_materialization_data for event in done.get_asset_materialization_events()
        ]
        (made,) = (event.materialization for event in events)
        assert (made.asset_key, made.partition) == (dg.AssetKey("gold_player_agg"), "uno")
        assert made.metadata["dagster/row_count"].value == 1


@pytest.mark.parametrize(
    ("typed", "kind", "complaint"),
    [
        ({"layer": "SILVER", "since": "yesterday"}, SettingsError, "'yesterday' is no time"),
        ({"layer": "SILVER", "games": ["chess"]}, FeedError, "has no game 'chess'"),
        ({"layer": "GOLD", "games": ["chess"]}, FeedError, "has no game 'chess'"),
        ({"layer": "GOLD", "feed": "fitness"}, FeedError, "is not declared"),
        ({"layer": "SILVER", "since": "2026-11-21"}, StreamError, "has finished no batch"),
    ],
)
def test_what_cannot_be_rebuilt_is_said(rebuild, monkeypatch, typed, kind, complaint):
    monkeypatch.setattr("lake_assets.defs.redo.locate", lambda _: None)
    with pytest.raises(kind, match=complaint):
        rebuild(**typed)
