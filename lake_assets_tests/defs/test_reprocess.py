from datetime import UTC, datetime

import dagster as dg
import pytest

from lake_assets.defs.reprocess import build
from lake_assets.errors import FeedError, SettingsError, StreamError
from lake_assets.model.checks import Severity
from lake_assets.model.gold_views import GoldView
from lake_assets.state.failing_expectations import Verdict, note_verdicts
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES

OF_ALL = GoldView(name="top", sql="select game_name, gamer_id from silver_all")
FEED = GAMES.model_copy(update={"gold": (*GAMES.gold, OF_ALL)})


@pytest.fixture
def rebuild(settings, instance):
    """Runs the job with what a user typed into its form."""

    def run(*feeds, **typed):
        config = {"ops": {"run_rebuild": {"config": typed}}}
        own = build(settings, feeds or [FEED]).resolve_job_def("rebuild")
        return own.execute_in_process(run_config=config, instance=instance)

    return run


@pytest.mark.spark
def test_gold_is_computed_anew_for_the_games_that_are_asked_for(rebuild, settings):
    for key in ("uno", "go_fish"):
        add_silver(settings.lake_dir, key, "ann")
    for _ in range(2):
        (made,) = materializations(rebuild(layer="GOLD", keys=["uno"]))
        assert (made.asset_key, made.partition) == (dg.AssetKey("gold_player_agg"), "uno")
        assert made.metadata["dagster/partition_row_count"].value == 1
    # Views over all games are of no game that could be asked for.
    made = materializations(rebuild(layer="GOLD"))
    assert [(m.asset_key.to_user_string(), m.partition) for m in made] == [
        ("gold_player_agg", "uno"),
        ("gold_player_agg", "go_fish"),
        ("gold_top", None),
    ]
    assert made[-1].metadata["dagster/row_count"].value == 2
    (top,) = materializations(rebuild(layer="GOLD", view="top"))
    assert top.asset_key == dg.AssetKey("gold_top")


def materializations(done):
    events = done.get_asset_materialization_events()
    return [event.step_materialization_data.materialization for event in events]


def test_the_form_has_all_that_may_be_typed(settings):
    (node,) = build(settings, [FEED]).resolve_job_def("rebuild").nodes
    fields = node.definition.config_field.config_type.fields
    assert [name for name, one in fields.items() if not one.default_provided] == ["layer"]


@pytest.mark.spark
def test_gold_that_is_held_up_says_so(rebuild, settings):
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = FEED.model_copy(update={"expectations": (blocking,), "gold": GAMES.gold[:1]})
    add_silver(settings.lake_dir, "uno", "ann")
    verdict = Verdict(key="uno", name=blocking.name, severity=Severity.WARN)
    note_verdicts(settings.state_dir, "games", [verdict], datetime.now(UTC))
    done = rebuild(feed, layer="GOLD")
    assert not materializations(done)
    (event,) = done.get_asset_observation_events()
    told = event.asset_observation_data.asset_observation
    assert (told.asset_key.to_user_string(), told.partition) == ("gold_player_agg", "uno")
    assert told.metadata["refresh"].value == "left as it is"
    assert blocking.name in told.metadata["refresh_why"].value


@pytest.mark.parametrize(
    ("typed", "kind", "complaint"),
    [
        ({"layer": "SILVER", "since": "yesterday"}, SettingsError, "'yesterday' is no time"),
        ({"layer": "SILVER", "keys": ["chess"]}, FeedError, "has no key 'chess'"),
        ({"layer": "GOLD", "keys": ["chess"]}, FeedError, "has no key 'chess'"),
        ({"layer": "GOLD", "feed": "fitness"}, FeedError, "is not declared"),
        ({"layer": "SILVER", "until": "now"}, SettingsError, "until: 'now' is no time"),
        ({"layer": "SILVER", "view": "top"}, SettingsError, "view: does not go with layer SILVER"),
        ({"layer": "GOLD", "until": "2026-11-21"}, SettingsError, "until: does not go with"),
        ({"layer": "GOLD", "view": "tops"}, FeedError, "has no gold view 'tops'"),
        ({"layer": "SILVER", "since": "2026-11-21"}, StreamError, "has finished no batch"),
    ],
)
def test_what_cannot_be_rebuilt_is_said(rebuild, monkeypatch, typed, kind, complaint):
    monkeypatch.setattr("lake_assets.defs.reprocess.locate", lambda *_: None)
    with pytest.raises(kind, match=complaint):
        rebuild(**typed)


def test_of_several_feeds_one_must_be_named(rebuild):
    second = FEED.model_copy(update={"feed": "fitness"})
    with pytest.raises(SettingsError, match=r"feed: is blank.* Write one of: games, fitness"):
        rebuild(FEED, second, layer="GOLD")
