import pytest

from lake_assets.delta.window_position import LATE_ROWS, WINDOWS_UNTIL, WindowPosition


@pytest.mark.parametrize("until", [None, -5, 1_700_000_000_000_000])
def test_a_position_comes_back_from_the_metadata(until):
    position = WindowPosition(until=until, late_rows=3)
    assert WindowPosition.of(position.info) == position


@pytest.mark.parametrize(
    "info",
    [
        {},
        {WINDOWS_UNTIL: "1"},
        {WINDOWS_UNTIL: "x", LATE_ROWS: "0"},
        {WINDOWS_UNTIL: "", LATE_ROWS: ""},
    ],
)
def test_what_is_no_position_is_none(info):
    assert WindowPosition.of(info) is None
