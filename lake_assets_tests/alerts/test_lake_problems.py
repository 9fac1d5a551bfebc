import pytest

from lake_assets.alerts.lake_problems import LakeSeen, SeenBackups, SeenChange, SeenGap, judge_lake
from lake_assets.model.alerts import AlertSeverity
from lake_assets.model.alerts import ProblemKind as Kind
from lake_assets.model.gaps import Gap, GapReason

NOW = 1.8e9


def seen(start, end, ago_s):
    gap = Gap(source="t", partition=0, offset_from=start, offset_to=end, reason=GapReason.DELETED)
    return SeenGap(gap=gap, at=NOW - ago_s)


def test_a_feed_that_stopped_is_told_with_why():
    (problem,) = judge_lake(LakeSeen(utc_now=NOW, stopped={"games": "demux failed 3 times"}))
    assert (problem.kind, problem.subject) == (Kind.FEED_STOPPED, "games")
    assert (problem.severity, problem.details) == (AlertSeverity.ERROR, "demux failed 3 times")


def test_rows_that_were_lost_are_told_with_their_offsets_since_the_first_of_a_day():
    gaps = [seen(7, 9, 60), seen(1, 4, 3_600)]
    (problem,) = judge_lake(LakeSeen(utc_now=NOW, gaps={"games": gaps}))
    assert (problem.kind, problem.subject, problem.since) == (Kind.ROWS_LOST, "games", NOW - 3_600)
    assert problem.details == (
        "offsets 1 to 3 of partition 0 of t (deleted), offsets 7 to 8 of partition 0 of t "
        "(deleted): passed over. The table `gaps` has all"
    )


def test_of_many_gaps_some_are_named_and_the_others_counted():
    gaps = [seen(n, n + 1, 60) for n in range(9)]
    (problem,) = judge_lake(LakeSeen(utc_now=NOW, gaps={"games": gaps}))
    assert ", and 6 more" in problem.details


@pytest.mark.parametrize("gaps", [[], [seen(1, 4, 86_401)]])
def test_after_a_day_lost_rows_are_no_problem_any_more(gaps):
    assert judge_lake(LakeSeen(utc_now=NOW, gaps={"games": gaps})) == []


def changed(*ago_s):
    files = [SeenChange(file=f"{n}.jsonl", state="grown", at=NOW - s) for n, s in enumerate(ago_s)]
    return judge_lake(LakeSeen(utc_now=NOW, changes={"beats": files}))


def test_files_that_changed_are_named_for_a_day():
    (problem,) = changed(60, 3_600)
    assert (problem.kind, problem.subject, problem.since) == (
        Kind.FILES_CHANGED,
        "beats",
        NOW - 3_600,
    )
    assert problem.severity is AlertSeverity.WARNING
    assert problem.details.startswith("1.jsonl (grown), 0.jsonl (grown): changed since they were")
    (many,) = changed(*range(9))
    assert ", and 6 more: changed" in many.details
    assert changed(86_401) == changed() == []


HOUR = 3_600.0


def old(age_h, **facts):
    backups = SeenBackups(target="/place", since=NOW - age_h * HOUR, may_be_s=26 * HOUR, **facts)
    return judge_lake(LakeSeen(utc_now=NOW, backups=backups))


@pytest.mark.parametrize("age_h", [-5, 0, 25.9, 26])
def test_a_backup_that_is_young_enough_is_no_problem(age_h):
    assert old(age_h, number=3, failed_at=NOW, why="full") == []


def test_a_backup_that_is_too_old_is_told_since_then_with_why_there_is_no_later_one():
    (problem,) = old(30, number=3, failed_at=NOW - 60, why="/place: is full. Free some space.")
    assert (problem.kind, problem.subject) == (Kind.BACKUP_OLD, "backup")
    assert (problem.severity, problem.since) == (AlertSeverity.ERROR, NOW - 4 * HOUR)
    assert problem.details == (
        "The last good backup, number 3 of 2027-01-14 02:00 UTC, is 30.0 h ago, in /place; it may "
        "be 26 h old. The last try, on 2027-01-15 07:59 UTC, failed: /place: is full. Free some "
        "space. See the job `backup` and its schedule in Dagster"
    )


@pytest.mark.parametrize("number", [3, None])
def test_a_backup_of_a_time_to_come_is_told_since_nobody_knows_its_age(number):
    """A clock that was ahead by a year, and set back, kept the alert away for all of it."""
    assert old(-26, number=number) == []  # and by so much the alert may come late
    (problem,) = old(-30, number=number, failed_at=NOW, why="full")
    assert problem.since == NOW
    assert "30.0 h from now (the clock was set back since), in /place" in problem.details
    assert "The last try, on 2027-01-15 08:00 UTC, failed: full." in problem.details


def test_where_there_never_was_one_that_is_told():
    (problem,) = old(27)
    assert problem.details.startswith(
        "There is no backup yet, though it was asked for on 2027-01-14 05:00 UTC, 27.0 h ago"
    )
    assert "failed" not in problem.details
