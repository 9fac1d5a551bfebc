import pytest

from lake_assets.model.checks import Severity
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.reports import Judged
from lake_assets.model.severity import per_cent, severity_of, share_in_words


def expectation(action, **more):
    return Expectation(name="known", sql="true", action=action, **more)


@pytest.mark.parametrize("action", Action)
def test_what_no_row_violates_passes(action):
    assert severity_of(expectation(action), Judged(seen=9, violated=0)) is None


@pytest.mark.parametrize(
    ("action", "severity"),
    [(Action.WARN, Severity.WARN), (Action.DROP, Severity.WARN), (Action.FAIL, Severity.ERROR)],
)
def test_one_row_is_as_bad_as_what_becomes_of_it(action, severity):
    assert severity_of(expectation(action), Judged(seen=9, violated=1)) is severity


@pytest.mark.parametrize(("violated", "severity"), [(5, Severity.WARN), (6, Severity.ERROR)])
def test_one_quarantined_row_in_twenty_is_still_a_warning(violated, severity):
    judged = Judged(seen=100, violated=violated)
    assert severity_of(expectation(Action.QUARANTINE), judged) is severity


def test_no_share_is_allowed_where_it_is_zero():
    strict = expectation(Action.QUARANTINE, max_share=0)
    assert severity_of(strict, Judged(seen=100, violated=1)) is Severity.ERROR


@pytest.mark.parametrize("action", Action)
def test_an_expectation_survives_json(action):
    share = {"max_share": 0.2} if action is Action.QUARANTINE else {}
    found = expectation(action, **share)
    assert Expectation.model_validate_json(found.model_dump_json()) == found


def test_a_share_is_told_in_words():
    assert share_in_words(Judged(seen=40, violated=3)) == "3 of 40 rows violate it (7.5 %)"
    assert per_cent(Judged(seen=0, violated=0)) == 0
