import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from deltalake import DeltaTable

from lake_assets.delta.committer import Committer
from lake_assets.errors import FeedError
from lake_assets.gold.run import refresh_views
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner, owner_of_view
from lake_assets.model.routes import Route
from lake_assets.model.table_names import TableNames
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import SCHEMA, add_silver
from lake_assets_tests.programs import run_program
from lake_assets_tests.sample import GAMES, RENAMED, gold_of, silver_of

_REFRESHES = """
import json, sys
from lake_assets.gold.run import refresh_views
from lake_assets.settings.schema import Settings
from lake_assets_tests.sample import GAMES
from pyspark.sql import SparkSession

settings = Settings.model_validate_json(sys.argv[1])
for games in (["uno"], None):
    for report in refresh_views(settings, GAMES, keys=games):
        print(json.dumps({
            "refreshed": [one.key for one in report.refreshed],
            "up_to_date": report.up_to_date,
            "phases": sorted(report.seconds),
            "live": SparkSession.getActiveSession() is not None,
        }))
"""


@pytest.mark.spark
def test_a_refresh_starts_and_stops_spark_and_looks_at_the_asked_for_games(settings):
    for key in ("uno", "go_fish"):
        add_silver(settings.lake_dir, key, "ann", "ann")
    said = run_program(_REFRESHES, [settings.model_dump_json()])
    phases = ["commit", "job", "plan", "session"]
    assert [json.loads(line) for line in said.splitlines()] == [
        {"refreshed": ["uno"], "up_to_date": [], "phases": phases, "live": False},
        {
            "refreshed": ["go_fish"],
            "up_to_date": [["uno", "player_agg"]],
            "phases": phases,
            "live": False,
        },
    ]
    found = DeltaTable(settings.lake_dir / gold_of("go_fish", "player_agg").relative)
    assert found.to_pyarrow_table().to_pylist() == [{"gamer_id": "ann", "session_count": 2}]


def test_nothing_new_needs_no_spark(settings, monkeypatch):
    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr("lake_assets.spark.lent_session.start_session", refuse)
    (report,) = refresh_views(settings, GAMES)
    assert (report.refreshed, report.up_to_date) == ((), ())


def test_a_refresh_waits_for_the_one_under_way(settings):
    with ThreadPoolExecutor(1) as pool:
        with turn_of_views(settings.state_dir, GAMES, GAMES.gold):
            waiting = pool.submit(refresh_views, settings, GAMES)
            with pytest.raises(TimeoutError):
                waiting.result(0.2)
        assert len(waiting.result(30)) == 1


def test_a_view_that_the_feed_has_not_is_named_before_spark_starts(settings):
    with pytest.raises(FeedError, match=r"has no gold view 'nothing'\. It has player_agg"):
        refresh_views(settings, GAMES, views=["nothing"])


def test_a_game_that_the_lake_has_not_is_named_before_spark_starts(settings):
    with pytest.raises(FeedError, match=r"has no key 'chess'\. It has uno, go_fish"):
        refresh_views(settings, GAMES, keys=["chess"])


OF_ALL = GoldView(name="top", sql="select gamer_id from silver_all")
BOTH = GAMES.model_copy(update={"gold": (*GAMES.gold, OF_ALL)})


def test_a_view_over_all_games_cannot_be_asked_for_some(settings):
    with pytest.raises(FeedError, match=r"view 'top': is over all keys, and only some"):
        refresh_views(settings, BOTH, views=["top"], keys=["uno"])


def test_views_over_all_games_are_left_out_where_some_are_asked_for(settings, monkeypatch):
    add_silver(settings.lake_dir, "go_fish", "ann")
    monkeypatch.setattr("lake_assets.spark.lent_session.start_session", pytest.fail)
    assert len(refresh_views(settings, BOTH, keys=["uno"])) == 1
    only = GAMES.model_copy(update={"gold": (OF_ALL,)})
    assert refresh_views(settings, only, keys=["go_fish"], full_refresh=True) == []


MOVED = GAMES.model_copy(update={"tables": RENAMED.tables})
"""The feed of before, whose declaration names its tables now."""


@pytest.fixture
def own(settings):
    """Creates empty tables with their owners."""

    def create(owners):
        committer = Committer(LocalStore.at(settings.lake_dir), threads=1)
        committer.create(dict.fromkeys(owners, SCHEMA), owners=owners)
        committer.close()

    return create


def test_a_feed_that_renamed_its_silver_is_not_refreshed(settings, own, monkeypatch):
    own({silver_of("uno"): Owner(feed="games", key="uno")})
    monkeypatch.setattr("lake_assets.spark.lent_session.start_session", pytest.fail)
    for full_refresh in (False, True):
        with pytest.raises(FeedError, match="lake has silver_uno_events, which would be uno_in_si"):
            refresh_views(settings, MOVED, full_refresh=full_refresh)
    assert not (settings.lake_dir / "gold").exists()


def test_new_names_that_other_gold_has_still_are_refused_before_spark_starts(
    settings, own, monkeypatch
):
    before, after = (
        GAMES.model_copy(
            update={
                "route": Route(column="game_name", keys=("a", "a_x")),
                "tables": TableNames(gold=template),
            }
        )
        for template in ("{key}_x_{view}", "{key}_{view}")
    )
    (view,) = before.gold
    own({before.gold_table(view, key): owner_of_view(before, view.name, key) for key in "a"})
    monkeypatch.setattr("lake_assets.spark.lent_session.start_session", pytest.fail)
    for full_refresh in (False, True):
        with pytest.raises(FeedError, match="a_x_player_agg, which is that of view 'player_agg'"):
            refresh_views(settings, after, full_refresh=full_refresh)
    assert [path.name for path in (settings.lake_dir / "gold").iterdir()] == ["a_x_player_agg"]


@pytest.mark.long
@pytest.mark.spark
def test_gold_of_former_names_stays_until_it_was_computed_under_the_new_ones(settings, own):
    view, lake = GAMES.gold[0], settings.lake_dir
    add_silver(lake, "uno", "ann", "ann", feed=MOVED)
    for feed in (GAMES, MOVED):
        own({feed.gold_table(view, k): owner_of_view(feed, view.name, k) for k in feed.keys})
    assert run_program(_REBUILDS, [settings.model_dump_json()]).splitlines() == ["['uno']"]
    assert sorted(path.name for path in (lake / "gold").iterdir()) == [
        "gold_go_fish_player_agg",
        "player_agg_of_go_fish",
        "player_agg_of_uno",
    ]


_REBUILDS = """
import sys
from lake_assets.gold.run import refresh_views
from lake_assets.settings.schema import Settings
from lake_assets_tests.gold.test_run import MOVED

settings = Settings.model_validate_json(sys.argv[1])
(report,) = refresh_views(settings, MOVED, full_refresh=True)
print([one.key for one in report.refreshed])
"""


@pytest.mark.spark
def test_a_rebuild_of_all_gold_moves_it_to_the_names_it_has_now(settings, own):
    view, lake = GAMES.gold[0].name, settings.lake_dir
    add_silver(lake, "uno", "ann", "ann", feed=MOVED)
    own({gold_of("uno", view): owner_of_view(GAMES, view, "uno")})
    full = {"full_refresh": True}
    for chosen in ({}, {**full, "views": [view]}, {**full, "keys": ["uno"]}):
        with pytest.raises(FeedError, match="which would be player_agg_of_uno"):
            refresh_views(settings, MOVED, **chosen)
    assert run_program(_REBUILDS, [settings.model_dump_json()]).splitlines() == ["['uno']"]
    assert [path.name for path in (lake / "gold").iterdir()] == ["player_agg_of_uno"]
    found = DeltaTable(lake / "gold" / "player_agg_of_uno").to_pyarrow_table().to_pylist()
    assert found == [{"gamer_id": "ann", "session_count": 2}]
    refresh_views(settings, MOVED)
