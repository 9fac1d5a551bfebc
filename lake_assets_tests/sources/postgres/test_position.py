from dataclasses import replace

import pytest

from lake_assets.sources.postgres.position import Horizon, Pass, Position, after_pass

AT = Position(database="7/1", table=42, by=("w", "k"), xmax=3)


def _pass(xmin, number, mark):
    return Pass(xmin=xmin, horizon=Horizon(number=number, mark=mark))


def test_where_all_that_began_has_ended_the_mark_counts_at_once():
    assert after_pass(AT, _pass(10, 10, 500), 100) == replace(AT, low=400)


def test_a_transaction_that_lasts_keeps_what_it_may_bring_in_reach():
    one = after_pass(AT, _pass(5, 10, 500), 100)
    assert (one.low, one.pending) == (None, Horizon(number=10, mark=500))
    two = after_pass(one, _pass(5, 20, 900), 100)
    assert (two.low, two.pending) == (None, Horizon(number=10, mark=500))
    three = after_pass(two, _pass(12, 30, 950), 100)
    assert (three.low, three.pending) == (400, Horizon(number=30, mark=950))
    four = after_pass(three, _pass(41, 40, 990), 100)
    assert (four.low, four.pending) == (890, None)


def test_what_is_known_not_to_come_is_not_looked_for_again():
    one = after_pass(AT, _pass(10, 10, 500), 100)
    assert after_pass(one, _pass(20, 20, 300), 100).low == 400


def test_a_table_without_rows_has_no_mark():
    assert after_pass(AT, _pass(10, 10, None), 100) == AT


def test_a_position_comes_back_as_it_was_written():
    begun = replace(_pass(1, 2, None), first=7, after=("2026-01-01", "é"))
    for position in (AT, replace(AT, low=-3, pending=Horizon(number=9, mark=8), begun=begun)):
        assert Position.of(position.text) == position


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"database": 1, "begun": {}}'])
def test_another_text_is_no_position(text):
    with pytest.raises(ValueError):  # noqa: PT011 - json's own, too
        Position.of(text)
