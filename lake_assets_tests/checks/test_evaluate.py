from datetime import UTC, datetime, timedelta

import pytest

from lake_assets.checks.evaluate import judge
from lake_assets.checks.subject import Subject
from lake_assets.model.checks import Freshness, GoldCheck, RowCount, Severity, SilverCheck
from lake_assets_tests.sample import silver_of

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def subject(**changes):
    own = {"key": "uno", "table": silver_of("uno"), "version": None}
    return Subject(**{**own, **changes})


def judged(check, found, **changes):
    return judge(subject(**changes), check, found, NOW)


@pytest.mark.parametrize(
    ("bounds", "rows", "passed"),
    [
        ({"min": 3}, 3, True),
        ({"min": 3}, 2, False),
        ({"max": 3}, 3, True),
        ({"max": 3}, 4, False),
        ({"min": 1, "max": 3}, 0, False),
    ],
)
def test_rows_are_within_their_bounds(bounds, rows, passed):
    result = judged(SilverCheck(name="some", row_count=RowCount(**bounds)), rows)
    assert (result.passed, result.found) == (passed, rows)
    assert result.words == f"{rows} rows; asked for is {result.limit}"


@pytest.mark.parametrize(("repeats", "passed"), [(0, True), (1, False)])
def test_no_two_rows_are_the_same(repeats, passed):
    result = judged(SilverCheck(name="u", unique=("a", "b"), severity=Severity.WARN), repeats)
    assert (result.passed, result.found, result.limit) == (passed, repeats, "0")
    assert result.severity is Severity.WARN
    assert result.words == f"{repeats} rows have the same a, b as a row before them"


FRESH = SilverCheck(name="fresh", freshness=Freshness(column="at", max_age="1h"))


@pytest.mark.parametrize(("minutes", "passed"), [(60, True), (61, False), (0, True), (-5, True)])
def test_the_newest_row_is_young_enough(minutes, passed):
    result = judged(FRESH, NOW - timedelta(minutes=minutes))
    assert (result.passed, result.found) == (passed, 60 * minutes)


def test_an_age_is_told_in_words():
    result = judged(FRESH, NOW - timedelta(minutes=61))
    assert result.words == "the newest at is 1 hour and 1 minute old; asked for is <= 1 hour"


@pytest.mark.parametrize("found", [None, 0])
def test_what_has_no_row_is_not_fresh(found):
    result = judged(FRESH, found)
    assert (result.passed, result.found, result.words) == (False, None, "no row has a at")


EQUAL = GoldCheck(name="all", equals_source="n")


@pytest.mark.parametrize(
    ("total", "passed"), [(12, True), (12.0, True), (11, False), (None, False)]
)
def test_a_views_sum_is_the_number_of_its_silver_rows(total, passed):
    result = judged(EQUAL, total, source_rows=12, source_version=4)
    assert (result.passed, result.limit) == (passed, "12")
    assert result.words == f"the sum of n is {total}; silver has 12 rows at version 4"


def test_a_view_that_was_never_refreshed_counts_nothing_wrong():
    result = judged(EQUAL, 0, source_rows=0, source_version=None)
    assert (result.passed, result.words) == (True, "the view was never refreshed for this key")


def test_a_silver_version_that_is_forgotten_cannot_be_compared():
    result = judged(EQUAL, 12, source_rows=None, source_version=4)
    assert (result.passed, result.limit) == (False, "?")
    assert "refresh the view" in result.words
