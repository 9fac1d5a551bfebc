from datetime import UTC, datetime, timedelta

from lake_assets.delta.commit import DataFile
from lake_assets.maintenance.retention import overdue, rows_go_before, slice_of
from lake_assets.model.retention import RowAges

NOW = datetime(2026, 11, 24, 12, tzinfo=UTC)
DAY = timedelta(days=1)
KEEP = 90 * DAY
BEFORE = NOW - KEEP


def aged(oldest, newest, name="a"):
    ages = [None if days is None else BEFORE - days * DAY for days in (oldest, newest)]
    file = DataFile(path=name, size=1, rows=1, stats="")
    return file, RowAges(oldest=ages[0], newest=ages[1])


def test_rows_are_too_old_by_the_clock_or_by_the_newest_row_whichever_is_earlier():
    assert rows_go_before(NOW, NOW + DAY, KEEP) == NOW - KEEP
    assert rows_go_before(NOW + 365 * DAY, NOW, KEEP) == NOW - KEEP


def test_a_file_goes_when_its_newest_row_is_too_old():
    old, young = aged(9, 0.01), aged(0.5, -0.01)
    assert overdue([old, young], BEFORE, KEEP) == ([old[0]], [])


def test_a_time_that_was_rounded_down_in_the_log_is_not_taken_for_older():
    file, _ = aged(1, 0)
    ages = RowAges(oldest=BEFORE - DAY, newest=BEFORE - timedelta(microseconds=400))
    assert overdue([(file, ages)], BEFORE, KEEP) == ([], [])


def test_a_file_is_rewritten_when_its_oldest_row_is_too_old_for_a_day():
    mixed, barely = aged(1.01, -5, "a"), aged(0.99, -5, "b")
    assert overdue([mixed, barely], BEFORE, KEEP) == ([], [mixed[0]])


def test_a_short_age_is_waited_for_no_longer_than_itself():
    mixed = aged(2 / 24, -1)
    assert overdue([mixed], BEFORE, timedelta(hours=1)) == ([], [mixed[0]])


def test_a_row_that_does_not_tell_stays_and_the_others_of_its_file_go():
    silent, partly = aged(None, None, "a"), aged(9, None, "b")
    assert overdue([silent, partly], BEFORE, KEEP) == ([], [partly[0]])


def test_files_are_of_the_time_of_their_newest_row():
    slices = [slice_of(aged(days + 1, days)[1], KEEP) for days in (0, 1, 60)]
    assert slices[0] - slices[2] in {10, 11}
    assert slices[0] - slices[1] in {0, 1}
    assert slice_of(RowAges(oldest=None, newest=None), KEEP) == 0
