from datetime import timedelta

import pytest
from pydantic import ValidationError

from lake_assets.model.checks import Freshness, GoldCheck, RowCount, SilverCheck


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("15m", 900), ("1h", 3600), ("2d", 172_800), ("1.5 hours", 5400)],
)
def test_a_duration_is_a_number_and_a_unit(text, seconds):
    assert Freshness(column="at", max_age=text).max_age == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["60", 60, "", "h", "-1h", "1x", "1h30m", "0d", None])
def test_anything_else_is_no_duration(text):
    with pytest.raises(ValidationError, match="is no duration\nwrite a number and a unit"):
        Freshness(column="at", max_age=text)


def test_a_check_survives_json():
    check = SilverCheck(name="fresh", freshness=Freshness(column="at", max_age="90m"))
    assert SilverCheck.model_validate_json(check.model_dump_json()) == check


def test_limits_are_told_in_words():
    assert str(RowCount(min=1, max=5)) == ">= 1 and <= 5"
    assert str(Freshness(column="at", max_age="90m")) == "<= 1 hour and 30 minutes"


def test_a_check_checks_one_thing():
    with pytest.raises(ValidationError, match="not unique and row_count"):
        SilverCheck(name="both", unique=("a",), row_count=RowCount(min=1))
    with pytest.raises(ValidationError, match="row_count, freshness, equals_source; none is given"):
        GoldCheck(name="none")


def test_a_check_knows_what_it_reads_and_whom_it_concerns():
    assert SilverCheck(name="u", unique=("a", "b")).columns == ("a", "b")
    assert GoldCheck(name="e", equals_source="n").columns == ("n",)
    assert GoldCheck(name="r", row_count=RowCount(min=1)).columns == ()
    some = SilverCheck(name="r", row_count=RowCount(min=1), keys=("uno",))
    assert (some.concerns("uno"), some.concerns("poker")) == (True, False)
