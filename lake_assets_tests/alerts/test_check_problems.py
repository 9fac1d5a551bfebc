from lake_assets.alerts.check_problems import (
    CheckFailure,
    check_problem,
    check_subject,
    judge_checks,
)
from lake_assets.model.alerts import AlertSeverity
from lake_assets.model.alerts import ProblemKind as Kind
from lake_assets_tests.alerts.problems import problem

KNOWN = problem("a/known/uno")


def test_a_failing_check_is_known_or_new_and_one_without_a_result_is_unclear():
    passed = {
        "a/known/uno": False,
        "a/known/go": False,
        "a/known/chess": True,
        "a/known/old": None,
    }
    verdict = judge_checks(passed, {KNOWN.key: KNOWN})
    assert (verdict.known, verdict.new) == ((KNOWN,), ("a/known/go",))
    assert verdict.unclear == {(Kind.CHECK_FAILED, "a/known/old")}


def test_a_problem_tells_what_is_on_record():
    failure = CheckFailure(severity=AlertSeverity.ERROR, at=7.0, details="rows seen: 8")
    assert check_problem("a/known/uno", failure, 9.0) == problem(
        "a/known/uno", severity=AlertSeverity.ERROR, since=7.0, details="rows seen: 8"
    )


def test_a_problem_without_a_record_is_a_warning_that_begins_now():
    assert check_problem("a/known/uno", None, 9.0) == problem("a/known/uno", since=9.0, details="")


def test_a_check_of_no_game_has_a_shorter_subject():
    assert check_subject("silver", "known", "uno") == "silver/known/uno"
    assert check_subject("silver", "known", None) == "silver/known"
