from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.transaction import CommitProperties

from lake_assets.checks.checked_tables import gold_tables, silver_tables, told_by_log
from lake_assets.model.checks import Freshness, GoldCheck, RowCount, SilverCheck
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import EVERY_KEY
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import add_silver, stands_for, stands_for_all
from lake_assets_tests.sample import GAMES, RENAMED, gold_of, silver_of

VIEW = GAMES.gold[0]
SOME = SilverCheck(name="some", row_count=RowCount(min=1))
FRESH = SilverCheck(name="fresh", freshness=Freshness(column="event_timestamp", max_age="1h"))
ONCE = SilverCheck(name="once", unique=("_offset",))
EQUAL = GoldCheck(name="all", equals_source="session_count")


def silver(settings, *checks, keys=("uno",)):
    return silver_tables(LocalStore.at(settings.lake_dir), GAMES, keys, checks)


def test_each_game_has_the_checks_that_concern_it(settings):
    own = SOME.model_copy(update={"keys": ("go_fish",)})
    (only,) = silver(settings, own, keys=["uno", "go_fish"])
    assert (only.subject.key, only.checks) == ("go_fish", (own,))


def test_the_log_tells_rows_and_times(settings):
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    add_silver(settings.lake_dir, "uno", "cid", start=7)
    (uno,) = silver(settings, SOME, FRESH, ONCE)
    newest = datetime(1970, 1, 1, 0, 0, 7, tzinfo=UTC)
    assert told_by_log(uno) == {"some": 3, "fresh": newest}
    assert uno.subject.version == 1


def test_a_table_that_is_not_there_yet_has_no_rows(settings):
    (uno,) = silver(settings, SOME, FRESH, ONCE)
    assert told_by_log(uno) == {"some": 0, "fresh": None, "once": 0}
    assert uno.subject.version is None


def test_a_table_without_files_repeats_nothing(settings):
    add_silver(settings.lake_dir, "uno", "ann")
    DeltaTable(settings.lake_dir / silver_of("uno").relative).delete()
    (uno,) = silver(settings, SOME, FRESH, ONCE)
    assert told_by_log(uno) == {"some": 0, "fresh": None, "once": 0}


@pytest.mark.parametrize("column", ["gamer_id", "nothing"])
def test_what_is_no_time_the_log_does_not_tell(settings, column):
    add_silver(settings.lake_dir, "uno", "ann")
    wrong = SilverCheck(name="fresh", freshness=Freshness(column=column, max_age="1h"))
    (uno,) = silver(settings, wrong)
    assert told_by_log(uno) == {}


def test_a_column_of_nulls_has_no_newest_time(settings):
    add_silver(settings.lake_dir, "uno", "ann")
    never = SilverCheck(name="fresh", freshness=Freshness(column="_kafka_timestamp", max_age="1h"))
    (uno,) = silver(settings, never)
    assert told_by_log(uno) == {"fresh": None}


def gold(settings, *checks):
    return gold_tables(LocalStore.at(settings.lake_dir), GAMES, VIEW, ["uno", "go_fish"], checks)


def test_a_view_that_was_never_refreshed_has_no_rows_and_stands_for_none(settings):
    add_silver(settings.lake_dir, "uno", "ann")
    uno, go_fish = gold(settings, EQUAL)
    assert (uno.handle, uno.subject.source_version, uno.subject.source_rows) == (None, None, 0)
    assert told_by_log(uno) == told_by_log(go_fish) == {"all": 0}


def test_a_view_is_compared_with_the_silver_that_it_stands_for(settings):
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    add_silver(settings.lake_dir, "uno", "cid")
    source = DeltaTable(settings.lake_dir / silver_of("uno").relative)
    write_deltalake(
        settings.lake_dir / gold_of("uno", VIEW.name).relative,
        source.to_pyarrow_table(columns=["gamer_id"]),
        commit_properties=CommitProperties(custom_metadata=stands_for(settings, VIEW, 0)),
    )
    uno, _ = gold(settings, EQUAL)
    assert (uno.subject.source_version, uno.subject.source_rows) == (0, 2)
    assert told_by_log(uno) == {}
    source.create_checkpoint()
    (settings.lake_dir / silver_of("uno").relative / "_delta_log" / f"{0:020}.json").unlink()
    uno, _ = gold(settings, EQUAL)
    assert (uno.subject.source_version, uno.subject.source_rows) == (0, None)


def test_a_view_over_all_games_is_compared_with_all_the_silver_that_it_stands_for(settings):
    view = GoldView(name="top", sql="select gamer_id, 1 as n from silver_all")
    equal = GoldCheck(name="all", equals_source="n")
    lake = settings.lake_dir
    add_silver(lake, "uno", "ann", "bob")
    add_silver(lake, "go_fish", "ann")
    write_deltalake(
        lake / GAMES.gold_table(view, EVERY_KEY).relative,
        DeltaTable(lake / silver_of("uno").relative).to_pyarrow_table(columns=["gamer_id"]),
        commit_properties=CommitProperties(
            custom_metadata=stands_for_all(settings, view, uno=0, go_fish=0)
        ),
    )
    add_silver(lake, "uno", "cid")
    (checked,) = gold_tables(LocalStore.at(lake), GAMES, view, [EVERY_KEY], [equal])
    subject = checked.subject
    assert (subject.key, subject.table.name) == (EVERY_KEY, "all_games_top")
    assert (subject.source_version, subject.source_rows) == (None, 3)


def test_tables_are_checked_under_the_names_that_their_feed_gives_them(settings):
    lake = settings.lake_dir
    add_silver(lake, "uno", "ann")
    add_silver(lake, "uno", "ann", "bob", feed=RENAMED)
    write_deltalake(
        lake / RENAMED.gold_table(VIEW, "uno").relative,
        DeltaTable(lake / RENAMED.silver_table("uno").relative).to_pyarrow_table(),
        commit_properties=CommitProperties(stands_for(settings, VIEW, 0, feed=RENAMED)),
    )
    (silver_uno,) = silver_tables(LocalStore.at(lake), RENAMED, ["uno"], [SOME])
    assert (silver_uno.subject.table.name, told_by_log(silver_uno)) == (
        "uno_in_silver",
        {"some": 2},
    )
    (gold_uno,) = gold_tables(LocalStore.at(lake), RENAMED, VIEW, ["uno"], [EQUAL])
    assert (gold_uno.subject.table.name, gold_uno.subject.source_rows) == ("player_agg_of_uno", 2)
