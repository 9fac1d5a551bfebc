import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake

from lake_assets.errors import LakeError
from lake_assets.gold.plan import info_of
from lake_assets.gold.plan_all import position_now
from lake_assets.gold.status import behind_since, games_unread, views_behind
from lake_assets.lake.failing import Failing
from lake_assets.model.checks import Severity
from lake_assets.model.feeds import GoldView
from lake_assets.model.tables import EVERY_GAME, gold_of, silver_of
from lake_assets_tests.sample import GAMES

ROW = pa.table({"gamer_id": ["a"]})


VIEW = GAMES.gold[0]


def write_gold(lake: Path, silver_version: int) -> None:
    write_deltalake(
        gold_of("uno", VIEW.name).path(lake),
        ROW,
        mode="overwrite",
        commit_properties=CommitProperties(custom_metadata=info_of(VIEW, silver_version)),
    )


def test_games_without_silver_are_not_behind(tmp_path):
    assert views_behind(tmp_path, GAMES) == {VIEW.name: ()}


def test_a_game_without_gold_is_behind(tmp_path):
    write_deltalake(silver_of("uno").path(tmp_path), ROW)
    assert views_behind(tmp_path, GAMES) == {VIEW.name: ("uno",)}


def test_a_game_is_behind_until_its_gold_stands_for_its_silver(tmp_path):
    silver = silver_of("uno").path(tmp_path)
    write_deltalake(silver, ROW)
    write_gold(tmp_path, 0)
    assert views_behind(tmp_path, GAMES) == {VIEW.name: ()}
    write_deltalake(silver, ROW, mode="append")
    assert views_behind(tmp_path, GAMES) == {VIEW.name: ("uno",)}


def test_a_game_whose_silver_was_made_anew_is_behind(tmp_path):
    silver = silver_of("uno").path(tmp_path)
    write_deltalake(silver, ROW)
    table = gold_of("uno", VIEW.name).path(tmp_path)
    for known, behind in ((str(DeltaTable(silver).metadata().id), ()), ("another", ("uno",))):
        info = CommitProperties(custom_metadata=info_of(VIEW, 0, silver_table=known))
        write_deltalake(table, ROW, mode="overwrite", commit_properties=info)
        assert views_behind(tmp_path, GAMES) == {VIEW.name: behind}


def test_a_view_that_is_defined_anew_is_behind(tmp_path):
    write_deltalake(silver_of("uno").path(tmp_path), ROW)
    write_gold(tmp_path, 0)
    anew = VIEW.model_copy(update={"measures": {"n": "count(*)"}})
    assert views_behind(tmp_path, GAMES.model_copy(update={"gold": (anew,)})) == {
        VIEW.name: ("uno",)
    }


def commit_of(lake: Path, version: int) -> Path:
    return silver_of("uno").path(lake) / "_delta_log" / f"{version:020}.json"


def write_silver(lake: Path, *times: float) -> None:
    """One commit at each time."""
    for version, at in enumerate(times):
        write_deltalake(silver_of("uno").path(lake), ROW, mode="append")
        os.utime(commit_of(lake, version), (at, at))


def test_a_view_is_behind_since_the_first_commit_that_it_lacks(tmp_path):
    write_silver(tmp_path, 100, 200, 300)
    assert behind_since(tmp_path, GAMES) == {VIEW.name: {"uno": 100}}
    write_gold(tmp_path, 0)
    assert behind_since(tmp_path, GAMES) == {VIEW.name: {"uno": 200}}
    write_gold(tmp_path, 2)
    assert behind_since(tmp_path, GAMES) == {VIEW.name: {}}


def test_a_commit_that_the_log_forgot_is_long_ago(tmp_path):
    write_silver(tmp_path, 100, 200, 300)
    write_gold(tmp_path, 0)
    DeltaTable(silver_of("uno").path(tmp_path)).create_checkpoint()
    commit_of(tmp_path, 1).unlink()
    assert behind_since(tmp_path, GAMES) == {VIEW.name: {"uno": 0}}


def test_a_log_that_cannot_be_read_is_an_error(tmp_path):
    write_silver(tmp_path, 100)
    commit_of(tmp_path, 0).write_text("rubbish")
    with pytest.raises(LakeError, match="log cannot be read"):
        views_behind(tmp_path, GAMES)


def test_when_a_view_was_defined_anew_is_not_known(tmp_path):
    write_silver(tmp_path, 100)
    write_gold(tmp_path, 0)
    anew = VIEW.model_copy(update={"measures": {"n": "count(*)"}})
    assert behind_since(tmp_path, GAMES.model_copy(update={"gold": (anew,)})) == {VIEW.name: {}}


def test_a_game_that_is_held_up_is_not_behind(tmp_path):
    write_deltalake(silver_of("uno").path(tmp_path), ROW)
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = GAMES.model_copy(update={"expectations": (blocking,)})
    at = datetime(2026, 11, 21, tzinfo=UTC)
    failing = Failing(since=at, severity=Severity.WARN, words="", version=None)
    assert views_behind(tmp_path, feed, {("uno", blocking.name): failing}) == {VIEW.name: ()}
    assert views_behind(tmp_path, GAMES, {("uno", blocking.name): failing}) == {VIEW.name: ("uno",)}


OF_ALL = GoldView(name="top", sql="select gamer_id from silver_all")
ALL_FEED = GAMES.model_copy(update={"gold": (OF_ALL,)})


def write_silver_of(lake: Path, game: str, at: float) -> None:
    folder = silver_of(game).path(lake)
    write_deltalake(folder, ROW, mode="append")
    version = DeltaTable(folder).version()
    os.utime(folder / "_delta_log" / f"{version:020}.json", (at, at))


def write_gold_of_all(lake: Path, versions: dict[str, int]) -> None:
    write_deltalake(
        ALL_FEED.gold_table(OF_ALL, EVERY_GAME).path(lake),
        ROW,
        mode="overwrite",
        commit_properties=CommitProperties(custom_metadata=position_now(OF_ALL, versions).info),
    )


def test_a_view_over_all_is_behind_until_it_stands_for_all_silver(tmp_path):
    assert views_behind(tmp_path, ALL_FEED) == {"top": ()}
    write_silver_of(tmp_path, "uno", 100)
    assert views_behind(tmp_path, ALL_FEED) == {"top": (EVERY_GAME,)}
    write_gold_of_all(tmp_path, {"uno": 0})
    assert views_behind(tmp_path, ALL_FEED) == {"top": ()}
    write_silver_of(tmp_path, "go_fish", 200)
    assert views_behind(tmp_path, ALL_FEED) == {"top": (EVERY_GAME,)}
    assert games_unread(tmp_path, ALL_FEED, {}) == {"go_fish"}


def test_a_view_over_all_is_behind_since_its_oldest_lack(tmp_path):
    write_silver_of(tmp_path, "uno", 300)
    write_silver_of(tmp_path, "go_fish", 100)
    assert behind_since(tmp_path, ALL_FEED) == {"top": {EVERY_GAME: 100}}
    write_gold_of_all(tmp_path, {"uno": 0, "go_fish": 0})
    assert behind_since(tmp_path, ALL_FEED) == {"top": {}}
    write_silver_of(tmp_path, "uno", 400)
    assert behind_since(tmp_path, ALL_FEED) == {"top": {EVERY_GAME: 400}}


def test_a_view_over_all_is_held_up_by_a_game_that_it_would_read(tmp_path):
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = ALL_FEED.model_copy(update={"expectations": (blocking,)})
    at = datetime(2026, 11, 21, tzinfo=UTC)
    failing = Failing(since=at, severity=Severity.WARN, words="", version=None)
    failures = {("uno", blocking.name): failing}
    write_silver_of(tmp_path, "uno", 100)
    assert views_behind(tmp_path, feed, failures) == {"top": ()}
    assert games_unread(tmp_path, feed, failures) == frozenset()
    write_gold_of_all(tmp_path, {"uno": 0})
    write_silver_of(tmp_path, "go_fish", 100)
    assert views_behind(tmp_path, feed, failures) == {"top": (EVERY_GAME,)}
