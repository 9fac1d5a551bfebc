from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, write_deltalake

from lake_assets.gold.plan import info_of
from lake_assets.gold.status import views_behind
from lake_assets.lake.failing import Failing
from lake_assets.model.checks import Severity
from lake_assets.model.tables import gold_of, silver_of
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


def test_a_view_that_is_defined_anew_is_behind(tmp_path):
    write_deltalake(silver_of("uno").path(tmp_path), ROW)
    write_gold(tmp_path, 0)
    anew = VIEW.model_copy(update={"measures": {"n": "count(*)"}})
    assert views_behind(tmp_path, GAMES.model_copy(update={"gold": (anew,)})) == {
        VIEW.name: ("uno",)
    }


def test_a_game_that_is_held_up_is_not_behind(tmp_path):
    write_deltalake(silver_of("uno").path(tmp_path), ROW)
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = GAMES.model_copy(update={"expectations": (blocking,)})
    at = datetime(2026, 11, 21, tzinfo=UTC)
    failing = Failing(since=at, severity=Severity.WARN, words="", version=None)
    assert views_behind(tmp_path, feed, {("uno", blocking.name): failing}) == {VIEW.name: ()}
    assert views_behind(tmp_path, GAMES, {("uno", blocking.name): failing}) == {VIEW.name: ("uno",)}
