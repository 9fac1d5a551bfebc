import pytest

from lake_assets.feeds.cron import complaint


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
        ("61 * * * *", "'61' in '61 * * * *' is no minute: use *, 0-59"),
        ("* 24 * * *", "is no hour"),
        ("* * 0 * *", "is no day of month"),
        ("* * * 13 *", "is no month"),
        ("* * * * 8", "is no day of week"),
        ("*/0 * * * *", "is no minute"),
        ("30-10 * * * *", "is no minute"),
        ("1, * * * *", "is no minute"),
        ("soon * * * *", "is no minute"),
    ],
)
def test_a_schedule_that_cannot_be_is_explained(expression, fact):
    assert fact in str(complaint(expression))
