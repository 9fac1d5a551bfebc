from concurrent.futures import Future

import pytest

from lake_assets.errors import ExpectationFailedError, FeedError, LakeError, StreamError
from lake_assets.model.checks import Severity
from lake_assets.model.origins import Origin
from lake_assets.model.reports import (
    CheckResult,
    Judged,
    Mode,
    Refreshed,
    RefreshReport,
    ViewRefresh,
)
from lake_assets.streams.refresh_answers import (
    answer_of,
    ask_after,
    failure_of,
    merged,
    refreshed_of,
)
from lake_assets_tests.sample import silver_of


def result(key: str, *, passed: bool = True, name: str = "some") -> CheckResult:
    return CheckResult(
        key=key,
        table=silver_of(key),
        name=name,
        severity=Severity.WARN,
        passed=passed,
        found=None,
        limit=">= 1",
        words="2 rows",
        version=3,
    )


def refreshed(view: str) -> Refreshed:
    example = Origin(name="t", partition=0, offset=7)
    report = RefreshReport(
        refreshed=(
            ViewRefresh(key="uno", view=view, rows=2, silver_version=4, mode=Mode.INCREMENTAL),
        ),
        up_to_date=(("go", view),),
        judged={("uno", "busy"): Judged(seen=2, violated=1, examples=(example,))},
        blocked={"poker": "some fails"},
        seconds={"plan": 0.25},
    )
    return Refreshed(
        reports=[report], silver_checks=[result("uno")], gold_checks={view: [result("go")]}
    )


def test_what_a_refresh_came_to_is_read_as_it_was():
    assert refreshed_of(answer_of(refreshed("one"))) == refreshed("one")


def test_views_that_were_refreshed_apart_are_one_refresh():
    both = merged([refreshed("one"), refreshed("two")])
    assert [report.refreshed[0].view for report in both.reports] == ["one", "two"]
    assert both.silver_checks == [result("uno")]  # each of the two had looked at it
    assert both.gold_checks == {"one": [result("go")], "two": [result("go")]}


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (FeedError("feed 'x'", "has no view", "Correct it"), FeedError),
        (LakeError("a table", "is torn", "Restore it"), LakeError),
        (ExpectationFailedError("busy", "uno", "1 of 2 rows violates it"), StreamError),
    ],
)
def test_an_error_of_ours_is_raised_with_its_words(problem, kind):
    with pytest.raises(kind) as raised:
        refreshed_of(failure_of(problem))
    assert str(raised.value) == str(problem)


def test_any_other_error_says_where_it_came_from():
    with pytest.raises(StreamError, match="failed in the process of the streams"):
        refreshed_of(failure_of(KeyError("x")))


@pytest.mark.parametrize("text", ["", "{", '{"reports": 1}'])
def test_what_is_no_answer_is_told_as_such(text):
    with pytest.raises(ValueError, match="validation error"):
        refreshed_of(text)


DONE = refreshed("agg")


def test_what_is_asked_for_after_others_is_asked_when_all_have_ended():
    before, asked, last = [Future(), Future()], [], Future()

    def ask():
        asked.append(1)
        return last

    answer = ask_after(before, ask)
    before[1].set_result(DONE)
    assert not asked
    before[0].set_result(DONE)
    assert asked == [1]
    last.set_result(DONE)
    assert answer.result(0) is DONE


def test_what_is_asked_for_after_one_that_fails_fails_with_it_and_is_not_asked():
    before = [Future(), Future()]
    answer = ask_after(before, lambda: pytest.fail("it was asked"))
    problem = LakeError("gold", "is gone", "Look")
    before[0].set_exception(problem)
    before[1].set_result(DONE)
    assert answer.exception(0) is problem


def test_what_fails_after_others_fails():
    problem, last = LakeError("gold", "is gone", "Look"), Future()
    before = Future()
    answer = ask_after([before], lambda: last)
    before.set_result(DONE)
    last.set_exception(problem)
    assert answer.exception(0) is problem
