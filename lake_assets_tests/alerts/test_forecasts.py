import pytest

from lake_assets.alerts.forecasts import (
    DISK,
    Deletion,
    ForecastFacts,
    Horizon,
    Offsets,
    RefreshPace,
    Sample,
    Unread,
    judge_forecasts,
    lost_at,
)
from lake_assets.model.alerts import ProblemKind as Kind

HOUR = 3_600.0
HORIZON = Horizon(retention_s=6 * HOUR, disk_s=24 * HOUR, refresh_share=0.8)
GB = 10**9


def sample(at, *, free=100 * GB, boot="b", **feeds):
    return Sample(at=at, boot=boot, free_bytes=free, feeds=feeds)


def judge(*samples, known=(), **facts):
    found = judge_forecasts(
        ForecastFacts(utc_now=1.8e9, samples=samples, **facts), set(known), HORIZON
    )
    return {problem.key: problem.details for problem in found}


def offsets(begin, reached, end):
    return Offsets(begin=begin, reached=reached, end=end)


def test_a_disk_that_is_full_within_the_horizon_is_told_with_the_hours_left():
    (told,) = judge(sample(0, free=11 * GB), sample(HOUR, free=10 * GB)).values()
    assert "has 10.0 GB left and loses 1.00 an hour: it is full in 10.0 h" in told


@pytest.mark.parametrize("before", [10.1, 10.0, 5.0])
def test_a_disk_that_lasts_longer_or_gets_emptier_is_no_problem(before):
    assert judge(sample(0, free=int(before * GB)), sample(HOUR, free=10 * GB)) == {}


def test_a_disk_that_was_told_of_is_a_problem_until_it_lasts_half_as_long_again():
    lasts_30_h = sample(0, free=int(10.34 * GB)), sample(HOUR, free=10 * GB)
    assert judge(*lasts_30_h) == {}
    key = (Kind.DISK_FILLS, DISK)
    assert set(judge(*lasts_30_h, known=[key])) == {key}
    lasts_40_h = sample(0, free=int(10.25 * GB)), sample(HOUR, free=10 * GB)
    assert judge(*lasts_40_h, known=[key]) == {}


def test_no_rate_is_taken_from_samples_of_another_boot_or_of_a_moment_ago():
    full_soon = {"free": 1 * GB}
    assert judge(sample(0, boot="a"), sample(HOUR, **full_soon)) == {}
    assert judge(sample(HOUR - 299), sample(HOUR, **full_soon)) == {}
    assert judge(sample(HOUR, **full_soon)) == {}
    assert set(judge(sample(HOUR - 300), sample(HOUR, **full_soon))) == {(Kind.DISK_FILLS, DISK)}


@pytest.mark.parametrize(
    ("now", "before", "deletion", "lost"),
    [
        # Old rows wait and nobody reads: those go that are too old then.
        (offsets(0, 100, 900), offsets(0, 100, 900), Deletion(young=400), 300),
        # They are read fast enough, or hardly.
        (offsets(0, 100, 900), offsets(0, 40, 900), Deletion(young=400), 0),
        (offsets(0, 100, 900), offsets(0, 90, 900), Deletion(young=400), 240),
        # All is read: nothing can be lost, however short rows are kept.
        (offsets(0, 900, 900), offsets(0, 800, 900), Deletion(young=900), 0),
        # What came since the sample before is on its way.
        (offsets(0, 500, 900), offsets(0, 500, 500), Deletion(young=900), 0),
        # Rows go as they went, whatever settings say, or if nobody may read them.
        (offsets(100, 150, 900), offsets(50, 150, 900), Deletion(), 250),
        (offsets(100, 150, 900), offsets(100, 150, 900), Deletion(), 0),
        # By size: 1,000 rows are kept, and 100 come an hour.
        (offsets(0, 100, 900), offsets(0, 100, 800), Deletion(rows_kept=1_000), 400),
        (offsets(0, 100, 900), offsets(0, 100, 800), Deletion(rows_kept=2_000), 0),
        # No more is lost than there will be.
        (offsets(0, 100, 900), offsets(0, 100, 900), Deletion(rows_kept=0), 800),
    ],
)
def test_rows_that_are_deleted_unread_are_counted_ahead(now, before, deletion, lost):
    ahead_s = 6 * HOUR
    assert lost_at(now, before, HOUR, deletion, ahead_s) == lost


def test_a_feed_that_retention_overtakes_is_told_with_rows_lag_and_partition():
    stands = {"t/0": offsets(0, 100, 900), "u/1": offsets(0, 50, 50)}
    deletions = {"games": {"t/0": Deletion(young=400), "u/1": Deletion(young=50)}}
    (told,) = judge(
        sample(0, games=stands), sample(HOUR, games=stands), deletions=deletions
    ).values()
    assert "Within 6.0 h the source deletes about 300 rows before they are read" in told
    assert "800 rows wait, the most in partition 0 of t" in told


def test_a_partition_or_a_feed_that_came_since_is_judged_the_next_time():
    late = {"games": {"t/0": Deletion(young=400)}}
    now = sample(HOUR, games={"t/0": offsets(0, 100, 900)})
    assert judge(sample(0), now, deletions=late) == {}
    assert judge(sample(0, games={"t/1": offsets(0, 0, 0)}), now, deletions=late) == {}


def test_a_view_whose_refreshes_nearly_take_the_time_between_two_is_told():
    slow = RefreshPace(seconds=49, every_s=60)
    (told,) = judge(sample(0), refreshes={"games.top": slow}).values()
    assert "Its refreshes take 49 s, and one is due each 60 s" in told
    quick = RefreshPace(seconds=47, every_s=60)
    assert judge(sample(0), refreshes={"games.top": quick}) == {}
    key = (Kind.REFRESH_SLOW, "games.top")
    assert set(judge(sample(0), refreshes={"games.top": quick}, known=[key])) == {key}


def test_what_the_next_run_of_a_feed_with_a_schedule_reads_in_time_is_not_lost():
    """No row was taken since the last run, and 100 are kept by their size: an hour's."""
    waits = sample(0, a={"t/0": offsets(0, 0, 50)}), sample(HOUR / 2, a={"t/0": offsets(0, 0, 100)})
    deletions = {"a": {"t/0": Deletion(rows_kept=160)}}
    key = (Kind.RETENTION_NEAR, "a")
    assert key in judge(*waits, deletions=deletions)
    assert judge(*waits, deletions=deletions, read_in_s={"a": HOUR / 2}) == {}
    told = judge(*waits, deletions=deletions, read_in_s={"a": HOUR})[key]
    assert told.startswith("Within 1.0 h the source deletes about 40 rows before they are read")


@pytest.mark.parametrize(
    ("waited_h", "next_run_h", "is_told"),
    [(17, None, False), (19, None, True), (19, 1, False), (23.5, 1, True), (30, None, True)],
)
def test_rows_that_wait_for_nearly_as_long_as_they_are_kept_are_told(waited_h, next_run_h, is_told):
    told = Unread(for_s=waited_h * HOUR, kept_s=24 * HOUR)
    read_in_s = {} if next_run_h is None else {"play": next_run_h * HOUR}
    found = judge(sample(0), unread={"play": told}, read_in_s=read_in_s)
    assert [*found] == ([(Kind.RETENTION_NEAR, "play")] if is_told else [])
