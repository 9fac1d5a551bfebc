from dataclasses import replace

import pytest

from lake_assets.alerts.messages import body_of, payload_of, text_of, title_of
from lake_assets.model.alerts import Alert, Moment, ProblemKind
from lake_assets_tests.alerts.problems import alert, problem

BEGUN = alert()
ENDED = alert(moment=Moment.ENDED)


def test_a_beginning_is_told_with_its_details():
    assert text_of(BEGUN) == (
        "Check fails: silver_events/known/uno. rows seen: 8, rows violated: 2"
    )


def test_an_end_is_told_with_its_length():
    assert text_of(ENDED) == "Over after 1 min: Check fails: silver_events/known/uno"


def test_streams_are_named_once():
    down = problem("streams", ProblemKind.STREAMS_FAILED)
    assert title_of(Alert(moment=Moment.BEGUN, problem=down, at=6)) == "Streams are down"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (59, "59 s"), (60, "1 min"), (3660, "1 h 1 min"), (90_000, "1 d 1 h")],
)
def test_a_length_is_given_in_two_units_at_most(seconds, words):
    ended = replace(ENDED, at=ENDED.problem.since + seconds)
    assert title_of(ended).startswith(f"Over after {words}:")


def test_a_webhook_gets_words_and_facts():
    assert payload_of(BEGUN, "/lake") == {
        "text": ("[warning] Check fails: silver_events/known/uno. rows seen: 8, rows violated: 2"),
        "id": "check_failed/silver_events/known/uno/65.000/begun",
        "event": "begun",
        "kind": "check_failed",
        "subject": "silver_events/known/uno",
        "severity": "warning",
        "since": "1970-01-01T00:00:05+00:00",
        "at": "1970-01-01T00:01:05+00:00",
        "details": "rows seen: 8, rows violated: 2",
        "lake": "/lake",
    }


def test_slacks_own_signs_are_escaped():
    odd = replace(BEGUN, problem=replace(BEGUN.problem, details="a <b> & c"))
    assert payload_of(odd, "")["text"].endswith("a &lt;b&gt; &amp; c")


def test_a_title_is_one_line():
    odd = replace(BEGUN, problem=replace(BEGUN.problem, subject="a\nBcc: b"))
    assert "\n" not in title_of(odd)


def test_an_e_mail_has_a_fact_a_line():
    lines = body_of(ENDED, "/lake").splitlines()
    assert lines[0] == text_of(ENDED)
    assert "event: ended" in lines
    assert "lake: /lake" in lines
