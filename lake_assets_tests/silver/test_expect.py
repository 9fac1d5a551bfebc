import pytest
from pyspark.testing import assertDataFrameEqual

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Action, Expectation
from lake_assets.silver.expect import DROPPED, judged, mark_of

pytestmark = pytest.mark.spark

KNOWN = Expectation(name="known", sql="gamer <> ''", action=Action.DROP)
YOUNG = Expectation(name="young", sql="level < 10", action=Action.DROP)
POSITIVE = Expectation(name="positive", sql="level > 0")


@pytest.fixture
def rows(spark):
    return spark.createDataFrame(
        [
            ("ann", 1, None),
            ("", 2, None),
            ("bob", -1, None),
            (None, None, None),
            ("", 99, None),
            ("", -1, "undecodable"),
        ],
        "gamer string, level int, `#reason` string",
    )


def test_rows_are_marked_by_what_they_violate_and_null_violates(spark, rows):
    found = judged(rows, [KNOWN, YOUNG, POSITIVE]).select(
        "gamer", "level", *(f"`{mark_of(e)}`" for e in (KNOWN, YOUNG, POSITIVE))
    )
    expected = spark.createDataFrame(
        [
            ("ann", 1, False, False, False),
            ("", 2, True, False, False),
            ("bob", -1, False, False, True),
            (None, None, True, True, True),
            ("", 99, True, True, False),
            ("", -1, False, False, False),
        ],
        "gamer string, level int, `#violates_known` boolean, `#violates_young` boolean, "
        "`#violates_positive` boolean",
    )
    assertDataFrameEqual(found, expected, checkRowOrder=True)


def test_rows_are_dropped_by_any_expectation_that_drops(rows):
    found = judged(rows, [KNOWN, YOUNG, POSITIVE]).toArrow()
    assert found[DROPPED].to_pylist() == [False, True, False, True, True, False]
    assert found["#keep"].to_pylist() == [True, False, True, False, False, True]


def test_a_warning_drops_nothing(rows):
    assert judged(rows, [POSITIVE]).toArrow()["#keep"].to_pylist() == [True] * 6


def test_without_expectations_rows_stay_as_they_are(rows):
    assert judged(rows, []).columns == rows.columns


def test_sql_that_does_not_compile_is_named_with_the_columns_there_are(rows):
    wrong = Expectation(name="typo", sql="gamre <> ''")
    with pytest.raises(FeedError, match=r"expectation 'typo'.*`gamre`.*columns are gamer, level"):
        judged(rows, [POSITIVE, wrong])
