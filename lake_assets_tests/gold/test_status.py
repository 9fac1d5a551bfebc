import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from pydantic import SecretStr

from lake_assets.errors import LakeError
from lake_assets.gold.status import behind_since, keys_unread, views_behind
from lake_assets.model.checks import Severity
from lake_assets.model.failures import Failing
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import EVERY_KEY
from lake_assets.settings.schema import Settings
from lake_assets_tests.gold.silver import stands_for, stands_for_all
from lake_assets_tests.sample import GAMES, RENAMED, WITHOUT_ROUTE, gold_of, silver_of

ROW = pa.table({"gamer_id": ["a"]})


VIEW = GAMES.gold[0]


def write_gold(settings: Settings, silver_version: int) -> None:
    write_deltalake(
        settings.lake_dir / gold_of("uno", VIEW.name).relative,
        ROW,
        mode="overwrite",
        commit_properties=CommitProperties(stands_for(settings, VIEW, silver_version)),
    )


def test_games_without_silver_are_not_behind(settings):
    assert views_behind(settings, GAMES) == {VIEW.name: ()}


def test_a_game_without_gold_is_behind(settings, lake):
    write_deltalake(lake / silver_of("uno").relative, ROW)
    assert views_behind(settings, GAMES) == {VIEW.name: ("uno",)}


def test_a_game_is_behind_until_its_gold_stands_for_its_silver(settings, lake):
    silver = lake / silver_of("uno").relative
    write_deltalake(silver, ROW)
    write_gold(settings, 0)
    assert views_behind(settings, GAMES) == {VIEW.name: ()}
    write_deltalake(silver, ROW, mode="append")
    assert views_behind(settings, GAMES) == {VIEW.name: ("uno",)}


def test_a_game_whose_silver_was_made_anew_is_behind(settings, lake):
    silver = lake / silver_of("uno").relative
    write_deltalake(silver, ROW)
    table = lake / gold_of("uno", VIEW.name).relative
    for known, behind in ((str(DeltaTable(silver).metadata().id), ()), ("another", ("uno",))):
        info = CommitProperties(custom_metadata=stands_for(settings, VIEW, 0, table=known))
        write_deltalake(table, ROW, mode="overwrite", commit_properties=info)
        assert views_behind(settings, GAMES) == {VIEW.name: behind}


def test_a_view_that_is_defined_anew_is_behind(settings, lake):
    write_deltalake(lake / silver_of("uno").relative, ROW)
    write_gold(settings, 0)
    full_refresh = VIEW.model_copy(update={"measures": {"n": "count(*)"}})
    assert views_behind(settings, GAMES.model_copy(update={"gold": (full_refresh,)})) == {
        VIEW.name: ("uno",)
    }


def test_a_view_is_behind_once_spark_is_set_to_compute_other_results(settings, lake):
    write_deltalake(lake / silver_of("uno").relative, ROW)
    write_gold(settings, 0)
    zone = SecretStr("Asia/Tokyo")
    spark = settings.spark.model_copy(update={"conf": {"spark.sql.session.timeZone": zone}})
    assert views_behind(settings, GAMES) == {VIEW.name: ()}
    elsewhere = settings.model_copy(update={"spark": spark})
    assert views_behind(elsewhere, GAMES) == {VIEW.name: ("uno",)}


def test_a_game_whose_silver_was_restored_to_another_commit_is_behind(settings, lake, tmp_path):
    silver = lake / silver_of("uno").relative
    write_deltalake(silver, ROW)
    shutil.copytree(silver, tmp_path / "backup")
    write_deltalake(silver, ROW, mode="append")
    write_gold(settings, 1)
    assert views_behind(settings, GAMES) == {VIEW.name: ()}
    shutil.rmtree(silver)
    shutil.copytree(tmp_path / "backup", silver)
    assert views_behind(settings, GAMES) == {VIEW.name: ("uno",)}
    write_deltalake(silver, ROW, mode="append")
    assert views_behind(settings, GAMES) == {VIEW.name: ("uno",)}


def commit_of(lake: Path, version: int) -> Path:
    return lake / silver_of("uno").relative / "_delta_log" / f"{version:020}.json"


def write_silver(lake: Path, *times: float) -> None:
    """One commit at each time."""
    for version, at in enumerate(times):
        write_deltalake(lake / silver_of("uno").relative, ROW, mode="append")
        os.utime(commit_of(lake, version), (at, at))


def test_a_view_is_behind_since_the_first_commit_that_it_lacks(settings, lake):
    write_silver(lake, 100, 200, 300)
    assert behind_since(settings, GAMES) == {VIEW.name: {"uno": 100}}
    write_gold(settings, 0)
    assert behind_since(settings, GAMES) == {VIEW.name: {"uno": 200}}
    write_gold(settings, 2)
    assert behind_since(settings, GAMES) == {VIEW.name: {}}


def test_a_commit_that_the_log_forgot_is_long_ago(settings, lake):
    write_silver(lake, 100, 200, 300)
    write_gold(settings, 0)
    DeltaTable(lake / silver_of("uno").relative).create_checkpoint()
    commit_of(lake, 1).unlink()
    assert behind_since(settings, GAMES) == {VIEW.name: {"uno": 0}}


def test_a_log_that_cannot_be_read_is_an_error(settings, lake):
    write_silver(lake, 100)
    commit_of(lake, 0).write_text("rubbish")
    with pytest.raises(LakeError, match="log cannot be read"):
        views_behind(settings, GAMES)


def test_when_a_view_was_defined_anew_is_not_known(settings, lake):
    write_silver(lake, 100)
    write_gold(settings, 0)
    full_refresh = VIEW.model_copy(update={"measures": {"n": "count(*)"}})
    assert behind_since(settings, GAMES.model_copy(update={"gold": (full_refresh,)})) == {
        VIEW.name: {}
    }


def test_a_game_that_is_held_up_is_not_behind(settings, lake):
    write_deltalake(lake / silver_of("uno").relative, ROW)
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = GAMES.model_copy(update={"expectations": (blocking,)})
    at = datetime(2026, 11, 21, tzinfo=UTC)
    failing = Failing(since=at, severity=Severity.WARN, words="", version=None)
    assert views_behind(settings, feed, {("uno", blocking.name): failing}) == {VIEW.name: ()}
    assert views_behind(settings, GAMES, {("uno", blocking.name): failing}) == {VIEW.name: ("uno",)}


OF_ALL = GoldView(name="top", sql="select gamer_id from silver_all")
ALL_FEED = GAMES.model_copy(update={"gold": (OF_ALL,)})


def write_silver_of(lake: Path, key: str, at: float) -> None:
    folder = lake / silver_of(key).relative
    write_deltalake(folder, ROW, mode="append")
    version = DeltaTable(folder).version()
    os.utime(folder / "_delta_log" / f"{version:020}.json", (at, at))


def write_gold_of_all(settings: Settings, **versions: int) -> None:
    write_deltalake(
        settings.lake_dir / ALL_FEED.gold_table(OF_ALL, EVERY_KEY).relative,
        ROW,
        mode="overwrite",
        commit_properties=CommitProperties(stands_for_all(settings, OF_ALL, **versions)),
    )


def test_a_view_over_all_is_behind_until_it_stands_for_all_silver(settings, lake):
    assert views_behind(settings, ALL_FEED) == {"top": ()}
    write_silver_of(lake, "uno", 100)
    assert views_behind(settings, ALL_FEED) == {"top": (EVERY_KEY,)}
    write_gold_of_all(settings, uno=0)
    assert views_behind(settings, ALL_FEED) == {"top": ()}
    write_silver_of(lake, "go_fish", 200)
    assert views_behind(settings, ALL_FEED) == {"top": (EVERY_KEY,)}
    assert keys_unread(settings, ALL_FEED, {}) == {"go_fish"}


def test_a_view_over_all_is_behind_since_its_oldest_lack(settings, lake):
    write_silver_of(lake, "uno", 300)
    write_silver_of(lake, "go_fish", 100)
    assert behind_since(settings, ALL_FEED) == {"top": {EVERY_KEY: 100}}
    write_gold_of_all(settings, uno=0, go_fish=0)
    assert behind_since(settings, ALL_FEED) == {"top": {}}
    write_silver_of(lake, "uno", 400)
    assert behind_since(settings, ALL_FEED) == {"top": {EVERY_KEY: 400}}


def test_a_view_over_all_is_held_up_by_a_game_that_it_would_read(settings, lake):
    blocking = GAMES.expectations[1].model_copy(update={"blocking": True})
    feed = ALL_FEED.model_copy(update={"expectations": (blocking,)})
    at = datetime(2026, 11, 21, tzinfo=UTC)
    failing = Failing(since=at, severity=Severity.WARN, words="", version=None)
    failures = {("uno", blocking.name): failing}
    write_silver_of(lake, "uno", 100)
    assert views_behind(settings, feed, failures) == {"top": ()}
    assert keys_unread(settings, feed, failures) == frozenset()
    write_gold_of_all(settings, uno=0)
    write_silver_of(lake, "go_fish", 100)
    assert views_behind(settings, feed, failures) == {"top": (EVERY_KEY,)}


def test_what_is_behind_is_told_by_the_feeds_own_tables(settings, lake):
    write_deltalake(lake / RENAMED.silver_table("uno").relative, ROW)
    write_deltalake(lake / WITHOUT_ROUTE.silver_table("clicks").relative, ROW)
    assert views_behind(settings, RENAMED) == {VIEW.name: ("uno",)}
    assert views_behind(settings, WITHOUT_ROUTE) == {VIEW.name: ("clicks",)}
    assert views_behind(settings, GAMES) == {VIEW.name: ()}
    write_deltalake(
        lake / RENAMED.gold_table(VIEW, "uno").relative,
        ROW,
        commit_properties=CommitProperties(stands_for(settings, VIEW, 0, feed=RENAMED)),
    )
    assert views_behind(settings, RENAMED) == {VIEW.name: ()}
