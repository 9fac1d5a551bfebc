import pyarrow as pa
import pytest
from deltalake import write_deltalake
from deltalake.transaction import CommitProperties

from lake_assets.checks.run import Asked, evaluate, run_checks
from lake_assets.errors import FeedError
from lake_assets.model.checks import Freshness, GoldCheck, RowCount, SilverCheck
from lake_assets.storage.local import LocalStore
from lake_assets_tests.gold.silver import add_silver, stands_for
from lake_assets_tests.sample import GAMES, gold_of

VIEW = GAMES.gold[0]
PLAYERS = SilverCheck(name="players", unique=("gamer_id",))
PAIRS = SilverCheck(name="pairs", unique=("gamer_id", "_offset"))
SOME = SilverCheck(name="some", row_count=RowCount(min=3))
FRESH = SilverCheck(name="fresh", freshness=Freshness(column="event_timestamp", max_age="1h"))
ALL = GoldCheck(name="counts_all", equals_source="session_count")
ONCE = GoldCheck(name="once", unique=("gamer_id",))

BOTH = ("uno", "go_fish")


def no_spark():
    raise AssertionError("Spark is not needed")


@pytest.fixture
def lake(settings):
    """Two games: one has a gamer twice and a view that counts it once."""
    add_silver(settings.lake_dir, "uno", "ann", "bob", "ann", None)
    add_silver(settings.lake_dir, "go_fish", "ann", "bob")
    for key, counts in (("uno", [1, 1]), ("go_fish", [1, 1])):
        write_deltalake(
            settings.lake_dir / gold_of(key, VIEW.name).relative,
            pa.table({"gamer_id": ["ann", "bob"], "session_count": counts}),
            commit_properties=CommitProperties(
                custom_metadata=stands_for(settings, VIEW, 0, key=key)
            ),
        )
    return settings.lake_dir


def asked(*silver, gold=(), keys=BOTH):
    return Asked(
        silver=silver,
        silver_keys=keys,
        gold={VIEW.name: gold},
        gold_keys={VIEW.name: keys},
    )


def told(results):
    return {(one.key, one.name): (one.passed, one.found) for one in results}


def test_what_the_logs_tell_needs_no_spark(settings, lake):
    found = told(evaluate(no_spark, LocalStore.at(lake), GAMES, asked(SOME)))
    assert found == {("uno", "some"): (True, 4), ("go_fish", "some"): (False, 2)}
    assert run_checks(settings, GAMES, asked(SOME, keys=())) == []


def test_games_without_tables_need_no_spark(settings):
    found = told(
        evaluate(
            no_spark, LocalStore.at(settings.lake_dir), GAMES, asked(PLAYERS, SOME, gold=[ALL])
        )
    )
    assert found[("uno", "players")] == (True, 0)
    assert found[("uno", "some")] == (False, 0)
    assert found[("uno", "counts_all")] == (True, 0)


@pytest.mark.spark
def test_all_checks_of_all_games_are_one_action(spark, lake):
    jobs = spark.sparkContext.statusTracker()
    spark.sparkContext.setJobGroup("checks", "")
    found = evaluate(
        lambda: spark, LocalStore.at(lake), GAMES, asked(PLAYERS, PAIRS, SOME, gold=[ALL, ONCE])
    )
    assert told(found) == {
        ("uno", "players"): (False, 1),
        ("uno", "pairs"): (True, 0),
        ("uno", "some"): (True, 4),
        ("go_fish", "players"): (True, 0),
        ("go_fish", "pairs"): (True, 0),
        ("go_fish", "some"): (False, 2),
        ("uno", "counts_all"): (False, 2),
        ("uno", "once"): (True, 0),
        ("go_fish", "counts_all"): (True, 2),
        ("go_fish", "once"): (True, 0),
    }
    # Adaptive execution hands over each shuffle's stages as a job: two a family, and the last.
    assert len(jobs.getJobIdsForGroup("checks")) <= 5
    ages = {
        one.name: one for one in evaluate(lambda: spark, LocalStore.at(lake), GAMES, asked(FRESH))
    }
    assert not ages["fresh"].passed


@pytest.mark.spark
@pytest.mark.parametrize(
    ("check", "problem"),
    [
        (SilverCheck(name="u", unique=("nothing",)), "check 'u': there is no column 'nothing'"),
        (
            SilverCheck(name="f", freshness=Freshness(column="gamer_id", max_age="1h")),
            "check 'f': 'gamer_id' is string, not a timestamp",
        ),
    ],
)
def test_a_check_that_does_not_fit_is_refused(spark, lake, check, problem):
    with pytest.raises(FeedError, match=problem):
        evaluate(lambda: spark, LocalStore.at(lake), GAMES, asked(check))


@pytest.mark.spark
def test_a_sum_needs_numbers(spark, lake):
    wrong = GoldCheck(name="all", equals_source="gamer_id")
    with pytest.raises(FeedError, match="check 'all': 'gamer_id' is string, not a number"):
        evaluate(lambda: spark, LocalStore.at(lake), GAMES, asked(gold=[wrong]))
