from lake_assets.alerts.run_problems import RunSeen, judge_runs
from lake_assets.model.alerts import AlertSeverity
from lake_assets.model.alerts import ProblemKind as Kind

NOW = 1.8e9
TICK = NOW - 3600


def judged(**facts):
    return judge_runs({"a": RunSeen(tick=TICK, **facts)}, NOW)


def test_a_feed_that_has_all_of_its_last_tick_is_well():
    assert judged(complete_at=TICK) == []
    assert judged(complete_at=NOW) == []


def test_a_feed_whose_rows_of_a_tick_are_not_taken_is_late():
    (found,) = judged(complete_at=TICK - 1, failed_at=TICK, why="the broker is away.")
    assert (found.kind, found.subject, found.since) == (Kind.RUN_MISSED, "a", TICK)
    assert found.severity is AlertSeverity.ERROR
    assert "had at 2027-01-15 07:00 UTC is not all taken" in found.details
    assert "The last one failed: the broker is away. See the job `run_feed_a`" in found.details


def test_a_run_that_takes_longer_than_it_may_is_a_warning():
    (found,) = judged(complete_at=TICK - 1, is_under_way=True)
    assert found.severity is AlertSeverity.WARNING
    assert "One is under way. See" in found.details


def test_what_was_noted_by_a_clock_that_was_ahead_says_nothing():
    (found,) = judged(complete_at=NOW + 1)
    assert found.kind is Kind.RUN_MISSED
