from dataclasses import replace

import pytest

from lake_assets.sources.postgres.position import Horizon, Pass, Position, after_pass

AT = Position(database="7/1", table=42, by=("w", "k"))


def _pass(xmin, xmax, mark):
    return Pass(xmin=xmin, horizon=Horizon(xmax=xmax, mark=mark))


def test_where_nothing_is_under_way_the_mark_counts_at_once():
    found = after_pass(AT, _pass(10, 10, 500), 100)
    assert found == replace(AT, low=400, pending=Horizon(xmax=10, mark=500))


def test_a_transaction_that_lasts_keeps_what_it_may_bring_in_reach():
    one = after_pass(AT, _pass(5, 10, 500), 100)
    assert (one.low, one.pending) == (None, Horizon(xmax=10, mark=500))
    two = after_pass(one, _pass(5, 20, 900), 100)
    assert (two.low, two.pending) == (None, Horizon(xmax=10, mark=500))
    three = after_pass(two, _pass(12, 30, 950), 100)
    assert (three.low, three.pending) == (400, Horizon(xmax=30, mark=950))


def test_what_is_known_not_to_come_is_not_looked_for_again():
    one = after_pass(AT, _pass(10, 10, 500), 100)
    assert after_pass(one, _pass(20, 20, 300), 100).low == 400


def test_a_table_without_rows_has_no_mark():
    assert after_pass(AT, _pass(10, 10, None), 100).low is None


def test_a_position_comes_back_as_it_was_written():
    begun = replace(_pass(1, 2, None), first=7, after=("2026-01-01", "é"))
    for position in (AT, replace(AT, low=-3, pending=Horizon(xmax=9, mark=8), begun=begun)):
        assert Position.of(position.text) == position


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"database": 1, "begun": {}}'])
def test_another_text_is_no_position(text):
    with pytest.raises(ValueError):  # noqa: PT011 - json's own, too
        Position.of(text)
