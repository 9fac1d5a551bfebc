import pytest
from pydantic import ValidationError

from lake_assets.model.rest import Body, Rest

URL = "https://api.example.com/sessions"
TOKEN = {"env": "TOKEN"}


@pytest.mark.parametrize(
    ("text", "calls_a_second"), [("1000/s", 1000), ("90/min", 1.5), ("36/h", 0.01), ("0.5/s", 0.5)]
)
def test_a_rate_is_calls_in_a_time(text, calls_a_second):
    assert Rest(url=URL, rate=text).rate == pytest.approx(calls_a_second)


def test_what_is_unset_is_careful():
    rest = Rest(url=URL)
    assert (rest.body, rest.rows_per_call, rest.in_flight) == (Body.ARRAY, 1, 1)
    assert not rest.allow_private
    assert rest.auth is None


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"url": "ftp://example.com"}, "no address of the web"),
        ({"url": "https:///path"}, "no address of the web"),
        ({"url": "https://example.com:99999/"}, "no address"),
        ({"url": "https://me:secret@example.com/"}, "has an @"),
        ({"url": "https://example.com/#part"}, "fragment"),
        ({"url": "https://example.com/ä"}, "a character that an address cannot have"),
        ({"url": "https://example.com/a b"}, "a character that an address cannot have"),
        ({"rows_per_call": 0}, "greater than or equal to 1"),
        ({"rows_per_call": 10, "body": "row"}, "body: row has one row a call"),
        ({"partitions": 64, "calls_in_flight": 64}, "more than 1024"),
        ({"rate": "1000"}, "is no rate"),
        ({"rate": "0/s"}, "is no rate"),
        ({"rate": 5}, "is no rate"),
        ({"timeout": "5"}, "is no duration"),
        ({"timeout": "1h"}, "less than or equal"),
        ({"headers": {"Authorization": "x"}}, "use `auth`"),
        ({"headers": {"Content-Length": "1"}}, "no header that can be set"),
        ({"headers": {"a b": "1"}}, "no header that can be set"),
        ({"headers": {"X-A": "1\r\nX-B: 2"}}, "a character that a header cannot have"),
        ({"auth": {}}, "none is given"),
        ({"auth": {"bearer": "very-secret"}}, "Input should be"),
        ({"auth": {"bearer": {"env": "not a name"}}}, "match pattern"),
        ({"auth": {"bearer": TOKEN, "header": {"name": "X-A", "value": TOKEN}}}, "not bearer and"),
        ({"auth": {"basic": {"user": "a:b", "password": TOKEN}}}, "match pattern"),
        ({"url": "http://example.com/", "auth": {"bearer": TOKEN}}, "anybody on the way"),
        ({"retries": 3}, "Extra inputs"),
    ],
)
def test_what_is_no_api_is_refused(declared, told):
    with pytest.raises(ValidationError, match=told):
        Rest.model_validate({"url": URL, **declared})


def test_a_token_is_asked_for_over_tls_only():
    oauth = {"token_url": "http://id.example.com/", "client_id": "me", "client_secret": TOKEN}
    with pytest.raises(ValidationError, match="anybody on the way"):
        Rest.model_validate({"url": URL, "auth": {"oauth": oauth}})
