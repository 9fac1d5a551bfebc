from datetime import timedelta

import pytest

from lake_assets.gold.refresh_need import definition_of
from lake_assets.gold.windows import Range, closed_until, is_ahead, range_of, start_sql
from lake_assets.model.gold_views import GoldView, Windows
from lake_assets_tests.sample import GAMES

WINDOWS = Windows(time="at", every="10s", watermark="4s")
SECOND = 1_000_000


@pytest.mark.parametrize(
    ("newest", "expected"),
    [(13.999_999, 0), (14, 10), (23.9, 10), (24, 20), (-7, -20), (-6, -10), (None, None)],
)
def test_a_window_is_closed_when_the_watermark_has_reached_its_end(newest, expected):
    newest = None if newest is None else round(newest * SECOND)
    expected = None if expected is None else expected * SECOND
    assert closed_until(WINDOWS, newest) == expected


def test_no_closed_window_opens_again():
    assert range_of(WINDOWS, 20 * SECOND, 15 * SECOND) == Range(
        since=20 * SECOND, until=20 * SECOND
    )
    assert range_of(WINDOWS, 20 * SECOND, None).is_empty
    assert range_of(WINDOWS, None, None).is_empty
    assert range_of(WINDOWS, None, 15 * SECOND) == Range(since=None, until=10 * SECOND)
    assert not range_of(WINDOWS, 10 * SECOND, 24 * SECOND).is_empty


def test_a_time_is_ahead_if_it_is_more_than_so_much_after_the_arrival_or_nothing_tells():
    day = 86_400 * SECOND
    assert [is_ahead(WINDOWS, 5 + late, 5) for late in (-5, day, day + 1)] == [False, False, True]
    assert is_ahead(WINDOWS, 5, None)


def test_what_closes_has_rows_up_to_its_end_and_from_what_was_closed_before():
    taken = Range(since=10, until=20)
    assert [taken.may_have(bounds) for bounds in ((0, 9), (0, 10), (19, 30), (20, 30), None)] == [
        False,
        True,
        True,
        False,
        True,
    ]
    assert not Range(since=20, until=20).may_have((10, 30))
    assert Range(since=None, until=20).may_have((0, 1))


def test_what_is_late_is_older_than_what_was_closed_before():
    taken = Range(since=10, until=20)
    assert [taken.may_be_late(bounds) for bounds in ((9, 30), (10, 30), None)] == [
        True,
        False,
        True,
    ]
    assert not Range(since=None, until=20).may_be_late((0, 1))


def test_a_window_begins_at_multiples_of_its_length():
    sql = start_sql(WINDOWS, 7)
    assert sql == "timestamp_micros(unix_micros(`at`) - pmod(unix_micros(`at`), 10000000L) + 7L)"


@pytest.mark.parametrize("every", ["500ms", "0s", timedelta(milliseconds=1500)])
def test_windows_take_whole_seconds(every):
    with pytest.raises(ValueError, match=r"whole seconds|is no duration"):
        Windows(time="at", every=every, watermark="1s")


def view(**more):
    declared = {"name": "v", "windows": {"time": "at", "every": "1m", "watermark": "10s"}}
    return GoldView.model_validate({**declared, "measures": {"n": "count(*)"}, **more})


def test_a_view_of_windows_needs_no_keys_and_has_the_windows_columns():
    assert view().columns == ("window_start", "window_end", "n")
    assert view(keys=["a"]).columns == ("window_start", "window_end", "a", "n")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"measures": {}}, "give keys and measures"),
        ({"measures": {}, "sql": "select 1 as n from silver"}, "windows go with keys"),
        ({"keys": ["window_end"]}, "window_end is a column that windows bring"),
        ({"checks": [{"name": "all", "equals_source": "n"}]}, "open windows have none yet"),
    ],
)
def test_what_windows_do_not_go_with_is_refused(more, said):
    with pytest.raises(ValueError, match=said):
        view(**more)


def test_a_view_without_windows_is_computed_by_the_same_definition_as_before():
    """Else all views of a lake would be computed anew by an upgrade."""
    assert definition_of(GAMES.gold[0], "session") == "6a5be43b248e7c3f"
    assert definition_of(view(), "s") != definition_of(view(windows=None, keys=["a"]), "s")
