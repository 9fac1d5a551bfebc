import pytest

from lake_assets.alerts.sink_problems import SinkSeen, judge_sinks
from lake_assets.model.alerts import AlertSeverity
from lake_assets.model.alerts import ProblemKind as Kind

NOW = 1.8e9


def problems(**facts):
    return judge_sinks({"games.api": SinkSeen(**facts)}, NOW, may_wait_s=900)


@pytest.mark.parametrize("facts", [{}, {"behind_since": NOW - 900}, {"recorded_at": 1.0}])
def test_a_sink_that_is_in_time_is_no_problem(facts):
    assert problems(**facts) == []


def test_one_that_stands_still_is_told_since_its_oldest_row():
    (problem,) = problems(behind_since=NOW - 1000, recorded_at=NOW - 950)
    assert (problem.kind, problem.subject) == (Kind.SINK_BEHIND, "games.api")
    assert (problem.severity, problem.since) == (AlertSeverity.ERROR, NOW - 1000)
    assert "Nothing was delivered since 2027-01-15 07:44 UTC" in problem.details


def test_one_that_never_began_is_told_as_such():
    (found,) = problems(behind_since=NOW - 1_000)
    assert found.severity is AlertSeverity.ERROR
    assert "are not delivered. It never began" in found.details


def test_one_that_delivers_too_slowly_is_a_warning():
    (problem,) = problems(behind_since=NOW - 1000, recorded_at=NOW - 10)
    assert problem.severity is AlertSeverity.WARNING


def test_dead_letters_are_told_with_the_command_that_sends_them_again():
    (problem,) = problems(new_letters=1200, letters_since=NOW - 60)
    assert (problem.kind, problem.since) == (Kind.DEAD_LETTERS, NOW - 60)
    assert "1,200 rows" in problem.details
    assert "`lake-assets redeliver --sink api`" in problem.details
