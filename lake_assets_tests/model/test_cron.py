from datetime import UTC, datetime, timedelta, timezone

import pytest

from lake_assets.model.cron import complaint, next_tick, next_tick_in_words, setting_complaint, slug


@pytest.mark.parametrize(
    "expression", ["* * * * *", "*/1 * * * *", "0 4 1,15 * 1-5", "5-55/10 0-23 1 12 7"]
)
def test_a_schedule_that_can_be_is_fine(expression):
    assert complaint(expression) is None


@pytest.mark.parametrize(
    ("expression", "fact"),
    [
        ("", "has 0 fields"),
        ("* * * *", "has 4 fields"),
        ("61 * * * *", "'61' in '61 * * * *' is no minute\nuse *, 0-59"),
        ("* 24 * * *", "is no hour"),
        ("* * 0 * *", "is no day of month"),
        ("* * * 13 *", "is no month"),
        ("* * * * 8", "is no day of week"),
        ("*/0 * * * *", "is no minute"),
        ("30-10 * * * *", "is no minute"),
        ("1, * * * *", "is no minute"),
        ("soon * * * *", "is no minute"),
        ("0 0 30 2 *", "'0 0 30 2 *' never comes: no month has that day"),
    ],
)
def test_a_schedule_that_cannot_be_is_explained(expression, fact):
    assert fact in str(complaint(expression))


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("* * * * *", "any"),
        ("*/5 * * * *", "every_5"),
        ("0 6 * * *", "0_6"),
        (" 0  6 * * * ", "0_6"),
        ("30 4 1,15 * 1-5", "30_4_1_and_15_any_1_to_5"),
        ("5-55/10 */2 * * *", "5_to_55_step_10_every_2"),
    ],
)
def test_each_expression_has_a_name(expression, name):
    assert slug(expression) == name


@pytest.mark.parametrize(
    ("expression", "tick"),
    [
        ("* * * * *", datetime(2026, 11, 25, 14, 1, tzinfo=UTC)),
        ("0 * * * *", datetime(2026, 11, 25, 15, tzinfo=UTC)),
        ("0 14 * * *", datetime(2026, 11, 26, 14, tzinfo=UTC)),
        ("0 0 29 2 *", datetime(2028, 2, 29, tzinfo=UTC)),
        ("30 6 * * 1-5", datetime(2026, 11, 26, 6, 30, tzinfo=UTC)),
    ],
)
def test_the_next_tick_comes_after_now_in_utc(expression, tick):
    now = datetime(2026, 11, 25, 14, tzinfo=UTC)
    there = now.astimezone(timezone(timedelta(hours=-5)))
    assert next_tick(expression, now) == next_tick(expression, there) == tick


def test_the_next_tick_is_told_with_its_expression():
    now = datetime(2026, 11, 25, 14, 30, tzinfo=UTC)
    assert next_tick_in_words("0 * * * *", now) == "at 2026-11-25 15:00 UTC (0 * * * *)"
    assert next_tick_in_words("0 0 31 4 *", now) == "never (0 0 31 4 *)"


@pytest.mark.parametrize("expression", ["*/15 * * * *", "0 2 * * MON-FRI", "@daily"])
def test_a_setting_takes_what_dagster_takes(expression):
    assert setting_complaint(expression) is None


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("61 * * * *", "'61 * * * *' is no cron expression"),
        ("@dayly", "'@dayly' is no cron expression"),
        ("0 0 31 2 *", "never comes"),
        ("* * *", "has 3 fields, not 5"),
    ],
)
def test_a_setting_that_never_comes_or_is_none_is_refused(expression, words):
    assert words in str(setting_complaint(expression))
