import pyarrow as pa
import pytest

from lake_assets.delta.log_history import open_table
from lake_assets.errors import ExpectationFailedError, FeedError
from lake_assets.gold.refresh import refresh
from lake_assets.gold.view_expectations import (
    GoldJudge,
    ensure_none_fails,
    judged_of,
    marked,
    recount,
)
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.reports import Judged
from lake_assets.parquet.writer import TABLE
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import add_silver
from lake_assets_tests.sample import GAMES, gold_of

VIEW = GAMES.gold[0]

GAMES_ASKED = ("uno", "go_fish")


def few(action, **scope):
    return Expectation(name="few", sql="session_count < 3", action=action, **scope)


def view_of(*expectations):
    return VIEW.model_copy(update={"expectations": expectations})


def batch(places, violates):
    return pa.RecordBatch.from_pydict(
        {
            TABLE: pa.array(places, pa.int32()),
            "#violates_few": pa.array(violates, pa.bool_()),
        }
    )


def act(view, *batches):
    judge = GoldJudge(view, GAMES_ASKED)
    tables = [row for found in judge(batches) for row in found[TABLE].to_pylist()]
    return tables, judged_of(
        [*judge.notes(), *GoldJudge(view, GAMES_ASKED).notes()], view, GAMES_ASKED
    )


def test_a_warning_keeps_and_counts():
    tables, judged = act(view_of(few(Action.WARN)), batch([0, 1, 0], [True, False, False]))
    assert tables == [0, 1, 0]
    assert judged == {
        ("uno", "few"): Judged(seen=2, violated=1),
        ("go_fish", "few"): Judged(seen=1, violated=0),
    }


def test_a_row_that_drops_has_no_table():
    tables, judged = act(
        view_of(few(Action.DROP)), batch([0, 1], [True, False]), batch([1], [True])
    )
    assert tables == [None, 1, None]
    assert judged["go_fish", "few"] == Judged(seen=2, violated=1)


def test_an_expectation_judges_the_games_that_it_names():
    view = view_of(few(Action.DROP, keys=("uno",)))
    tables, judged = act(view, batch([0, 1], [True, True]))
    assert tables == [None, 1]
    assert set(judged) == {("uno", "few")}


def test_one_that_fails_names_the_game_and_the_count():
    judged = {("uno", "few"): Judged(seen=7, violated=2)}
    ensure_none_fails(judged, view_of(few(Action.WARN)))
    with pytest.raises(
        ExpectationFailedError, match="of key 'uno': 2 of 7 rows of view player_agg"
    ):
        ensure_none_fails(judged, view_of(few(Action.FAIL)))


@pytest.mark.parametrize("odd", [{"action": "quarantine"}, {"blocking": True}])
def test_a_view_has_nothing_to_quarantine_or_to_block(odd):
    rule = {"name": "few", "sql": "session_count < 3", **odd}
    with pytest.raises(ValueError, match="use warn, drop or fail"):
        VIEW.model_validate(VIEW.model_dump() | {"expectations": [rule]})


@pytest.mark.spark
def test_sql_that_does_not_compile_is_named_with_the_columns_there_are(spark):
    rows = spark.createDataFrame(
        [("a", 1, 0)], f"gamer_id string, session_count long, `{TABLE}` int"
    )
    wrong = Expectation(name="typo", sql="sesion_count > 1")
    with pytest.raises(
        FeedError, match=r"'typo' of gold view .*columns are gamer_id, session_count"
    ):
        marked(rows, view_of(wrong))


@pytest.fixture
def run(spark, settings):
    add_silver(settings.lake_dir, "uno", "ann", "ann", "ann", "bob")
    add_silver(settings.lake_dir, "go_fish", "cid")

    def go(view):
        with open_lake(settings) as context:
            return refresh(spark, GAMES, view, GAMES_ASKED, context)

    return go


@pytest.mark.spark
def test_a_refresh_judges_its_rows_before_it_commits(run, settings, spark):
    with pytest.raises(ExpectationFailedError, match="1 of 2 rows"):
        run(view_of(few(Action.FAIL)))
    uno = gold_of("uno", "player_agg")
    assert open_table(LocalStore.at(settings.lake_dir), uno) is None
    assert list((settings.lake_dir / uno.relative).glob("*.parquet")) == []
    report = run(view_of(few(Action.DROP)))
    assert report.judged == {
        ("uno", "few"): Judged(seen=2, violated=1),
        ("go_fish", "few"): Judged(seen=1, violated=0),
    }
    handle = open_table(LocalStore.at(settings.lake_dir), uno)
    assert handle.to_pyarrow_table()["gamer_id"].to_pylist() == ["bob"]
    run(view_of(few(Action.WARN)))
    handles = {
        gold_of(g, "player_agg"): open_table(
            LocalStore.at(settings.lake_dir), gold_of(g, "player_agg")
        )
        for g in GAMES_ASKED
    }
    counted = recount(spark, view_of(few(Action.WARN)), handles)
    assert counted[uno] == {"few": Judged(seen=2, violated=1)}
