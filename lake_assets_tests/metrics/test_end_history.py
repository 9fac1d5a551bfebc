import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.metrics.end_history import EndHistory


def history(*points):
    found = EndHistory()
    for at, end in points:
        found.note(at, end)
    return found


def test_who_has_all_is_not_behind():
    found = history((0, 10), (5, 20))
    assert (found.rows_behind(20), found.seconds_behind(20, now=100)) == (0, 0)


def test_who_is_past_the_end_that_was_seen_last_is_not_behind():
    found = history((0, 10))
    assert (found.rows_behind(12), found.seconds_behind(12, now=100)) == (0, 0)


def test_rows_are_taken_to_have_come_evenly_between_two_looks():
    found = history((0, 0), (10, 100))
    assert found.rows_behind(50) == 50
    assert found.seconds_behind(49, now=12) == pytest.approx(7)


def test_what_came_after_a_quiet_hour_is_not_an_hour_old():
    found = history((0, 10), (1800, 10), (3600, 10), (3605, 20))
    assert found.seconds_behind(10, now=3606) <= 6


def test_what_was_there_at_the_first_look_is_at_least_as_old_as_that():
    assert history((7, 500)).seconds_behind(20, now=10) == 3


def test_a_source_that_was_made_anew_has_no_past():
    found = history((0, 1000), (10, 5))
    assert found.rows_behind(0) == 5
    assert found.seconds_behind(0, now=11) == 1


def test_nobody_is_behind_a_source_that_nobody_has_looked_at():
    found = EndHistory()
    assert (found.rows_behind(3), found.seconds_behind(3, now=9), found.end) == (0, 0, None)


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.integers(0, 2000))
def test_of_a_reader_that_goes_on_the_age_is_that_of_the_first_row_it_lacks(steps, position):
    found, end = EndHistory(), 0
    for second, step in enumerate(steps):
        end += step
        found.note(second, end)
    now = len(steps)
    behind = found.seconds_behind(position, now)
    first = next((s for s, e in enumerate(_ends(steps)) if e > position), None)
    if first is None:
        assert behind == 0
    else:
        assert now - first <= behind <= now - max(0, first - 1)


def _ends(steps):
    return [sum(steps[: i + 1]) for i in range(len(steps))]


def test_a_reader_that_stands_still_for_a_day_costs_no_more_memory_than_one_of_an_hour():
    found = EndHistory()
    for second in range(0, 86_400, 5):
        found.note(second, second)
    assert found.points <= 512
    assert found.seconds_behind(0, now=86_400) >= 86_000
