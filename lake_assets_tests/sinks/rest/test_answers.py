from datetime import UTC, datetime

import pytest

from lake_assets.sinks.rest.answers import Verdict, asked_pause_s, verdict_of

NOW = datetime(2026, 11, 25, 21, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("verdict", "statuses"),
    [
        (Verdict.DELIVERED, (200, 201, 202, 204, 299)),
        (Verdict.AGAIN, (408, 425, 429, 500, 502, 503, 504, 599)),
        (Verdict.GIVEN_UP, (100, 199, 300, 304, 400, 401, 404, 409, 413, 422, 499)),
    ],
)
def test_a_status_says_what_is_done(verdict, statuses):
    assert {verdict_of(status) for status in statuses} == {verdict}


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("0", 0.0),
        (" 120 ", 120.0),
        ("9" * 400, 86_400.0),
        ("Wed, 25 Nov 2026 21:00:30 GMT", 30.0),
        ("Wednesday, 25-Nov-26 21:00:30 GMT", 30.0),
        ("Wed, 25 Nov 2026 20:00:00 GMT", 0.0),
        ("Wed, 25 Nov 2126 20:00:00 GMT", 86_400.0),
        ("Wed, 99 Nov 2026 21:00:30 GMT", None),
    ],
)
def test_a_pause_is_asked_for_in_seconds_or_by_a_date(text, seconds):
    assert asked_pause_s({"retry-after": text}, NOW) == seconds


def test_a_date_is_told_by_the_clock_of_who_wrote_it():
    headers = {
        "retry-after": "Sat, 01 Jan 2000 00:00:10 GMT",
        "date": "Sat, 01 Jan 2000 00:00:00 GMT",
    }
    assert asked_pause_s(headers, NOW) == 10.0
    assert asked_pause_s({}, NOW) is None
