import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pyarrow as pa
import pytest
from pydantic import SecretStr

from lake_assets.errors import SettingsError, SinkError
from lake_assets.model.rest import Rest
from lake_assets.sinks.base import IDENTITY, Call
from lake_assets.sinks.rest.target import RestTarget
from lake_assets_tests.certificates import Authority
from lake_assets_tests.sinks.rest.api import running_api

SECRETS = {"TOKEN": "very-secret-token", "PASSWORD": "pass-word-of-mine"}


def _look_up(name):
    return SecretStr(SECRETS[name])


def _rest(api, **declared):
    common = {"url": f"{api.url}/sessions", "allow_private": True}
    return Rest.model_validate({**common, **declared})


def _call(target, number=1, rows=None):
    identity = pa.Table.from_pylist(
        [{"table": "silver/x", "source": "t", "partition": 0, "offset": number}], schema=IDENTITY
    )
    body = target.body_of(rows or [{"player": f"p{number}"}])
    return Call(number=number, key=f"key-{number}", rows=identity, body=body)


def _deliver(rest, count=1):
    async def run():
        async with RestTarget(rest, _look_up) as target:
            calls = [_call(target, number) for number in range(1, count + 1)]
            return [one for (one,) in await asyncio.gather(*map(target.deliver, calls))]

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("body", "text", "kind"),
    [
        ("row", '{"player":"p1"}', "application/json"),
        ("array", '[{"player":"p1"}]', "application/json"),
        ("ndjson", '{"player":"p1"}\n', "application/x-ndjson"),
    ],
)
def test_a_call_has_its_rows_and_its_key(api, body, text, kind):
    (outcome,) = _deliver(_rest(api, body=body, headers={"X-Team": "games"}))
    (call,) = api.calls()
    assert (outcome.is_delivered, outcome.tries, outcome.status) == (True, 1, 200)
    assert call["body"] == text
    assert call["headers"]["content-type"] == kind
    assert call["headers"]["idempotency-key"] == "key-1"
    assert call["headers"]["x-team"] == "games"


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500},
        {"status": 503},
        {"status": 408},
        {"status": 425},
        {"status": 429},
        {"kind": "hang", "seconds": 20},
        {"kind": "drip", "seconds": 0.2},
        {"kind": "half"},
        {"kind": "reset"},
        {"kind": "garbage"},
    ],
    ids=str,
)
def test_what_may_pass_is_tried_again_under_the_same_key(api, fault):
    api.script(fault, fault)
    lasts = {"timeout": "2s"} if fault.get("kind") in {"hang", "drip"} else {}
    (outcome,) = _deliver(_rest(api, **lasts))
    assert (outcome.is_delivered, outcome.tries) == (True, 3)
    assert {call["headers"]["idempotency-key"] for call in api.calls()} == {"key-1"}


@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 409, 410, 422])
def test_what_will_not_pass_is_given_up_at_once(api, status):
    api.script({"status": status, "headers": {"Location": f"{api.url}/other"}, "body": "why not"})
    (outcome,) = _deliver(_rest(api))
    assert (outcome.is_delivered, outcome.tries, outcome.status) == (False, 1, status)
    assert "why not" in outcome.response
    assert '[{"player":"p1"}]' in outcome.request
    assert [call["path"] for call in api.told()["calls"]] == ["/sessions"]  # none followed


def test_a_call_is_given_up_after_its_time(api):
    api.script(always={"status": 500, "body": "broken"})
    (outcome,) = _deliver(_rest(api, give_up_after="3s"))
    assert not outcome.is_delivered
    assert outcome.tries == len(api.calls()) > 1
    assert "answers 500 after" in outcome.reason
    assert "broken" in outcome.response


def test_a_server_that_is_not_there_is_waited_for_until_the_time_is_up(api):
    rest = _rest(api, url="http://127.0.0.1:9/sessions", give_up_after="1s")
    (outcome,) = _deliver(rest)
    assert (outcome.is_delivered, outcome.status) == (False, None)
    assert outcome.reason.startswith("ClientConnectorError")


@pytest.mark.parametrize("form", ["seconds", "date", "date of its own clock"])
def test_the_pause_that_is_asked_for_holds_for_all_calls(api, form):
    at = (datetime.now(UTC) + timedelta(seconds=3.9)).replace(microsecond=0)
    headers = {"Retry-After": "2"}
    if form == "date":
        headers = {"Retry-After": format_datetime(at, usegmt=True)}
    elif form == "date of its own clock":
        long_ago = at - timedelta(days=400)
        headers = {"Retry-After": format_datetime(long_ago, usegmt=True)}
    api.script({"status": 429, "headers": headers})
    # The time that was asked for is no time of the call's own.
    first, *_ = _deliver(_rest(api, rate="2/s", give_up_after="1s"), count=3)
    refused, *others = sorted(api.calls(), key=lambda call: call["at"])
    assert first.is_delivered
    assert len(others) == 3
    until = at.timestamp() if form == "date" else refused["at"] + 2
    if form != "date of its own clock":
        late = [call for call in others if call["at"] >= until - 0.1]
        assert len(late) >= 2  # one may have been on its way


def test_a_huge_answer_is_not_read_and_its_status_counts(api):
    api.script({"kind": "huge"}, {"kind": "huge", "status": 400})
    first, second = _deliver(_rest(api, rate="1/s"), count=2)
    assert first.is_delivered is not second.is_delivered
    given_up = second if first.is_delivered else first
    assert len(given_up.response) <= 16_384


def test_calls_keep_to_a_rate(api):
    began = time.time()
    _deliver(_rest(api, rate="40/s"), count=21)
    assert (
        max(call["at"] for call in api.calls()) - began >= 0.45
    )  # 20 gaps of 25 ms, of which a late timer makes up 20


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ({"bearer": {"env": "TOKEN"}}, "authorization", "Bearer very-secret-token"),
        (
            {"basic": {"user": "me", "password": {"env": "PASSWORD"}}},
            "authorization",
            "Basic bWU6cGFzcy13b3JkLW9mLW1pbmU=",
        ),
        (
            {"header": {"name": "X-Api-Key", "value": {"env": "TOKEN"}}},
            "x-api-key",
            SECRETS["TOKEN"],
        ),
    ],
)
def test_who_calls_is_said_and_never_kept(api, auth, header, value):
    api.script({"status": 400, "body": f"who is {value}?"})
    (outcome,) = _deliver(_rest(api, auth=auth))
    assert api.calls()[0]["headers"][header] == value
    kept = outcome.request + outcome.response + outcome.reason
    assert "who is" in kept
    assert not any(secret in kept for secret in (*SECRETS.values(), value.split()[-1]))


@pytest.mark.parametrize("kind", ["bearer", "header"])
@pytest.mark.parametrize("value", ["with its line break\n", "a\r\nX-Other: b", "naïve", ""])
def test_a_secret_that_fits_no_header_is_told_before_anything_is_sent(api, kind, value):
    secret = {"env": "TOKEN"}
    auth = {kind: secret if kind == "bearer" else {"name": "X-Api-Key", "value": secret}}
    with pytest.raises(SettingsError, match="TOKEN: has a character") as told:
        RestTarget(_rest(api, auth=auth), lambda _: SecretStr(value))
    assert not value or value not in str(told.value)


def test_headers_of_an_answer_may_be_of_any_bytes(api):
    api.script({"status": 400, "headers": {"X-Where": "Zürich"}})
    (outcome,) = _deliver(_rest(api))
    assert "x-where: Zürich" in outcome.response


OAUTH = {"client_id": "me", "client_secret": {"env": "PASSWORD"}, "scope": "write"}


def _token(text, lasts_s=3600):
    return {"body": json.dumps({"access_token": text, "expires_in": lasts_s})}


def test_a_token_is_got_once_and_anew_when_it_is_refused(api):
    api.script(_token("first-token"), {}, {"status": 401}, _token("second-token"))
    rest = _rest(api, auth={"oauth": {**OAUTH, "token_url": f"{api.url}/token"}})

    async def run():
        async with RestTarget(rest, _look_up) as target:
            return [(await target.deliver(_call(target, number)))[0] for number in (1, 2)]

    outcomes = asyncio.run(run())
    assert all(outcome.is_delivered for outcome in outcomes)
    asked = api.calls("/token")
    assert [call["body"] for call in asked] == ["grant_type=client_credentials&scope=write"] * 2
    sent = [call["headers"]["authorization"] for call in api.calls()]
    assert sent == ["Bearer first-token"] * 2 + ["Bearer second-token"]


def test_a_token_that_is_refused_again_gives_the_call_up(api):
    api.script(_token("first-token"), {"status": 401}, _token("second-token"), {"status": 401})
    rest = _rest(api, auth={"oauth": {**OAUTH, "token_url": f"{api.url}/token"}})
    (outcome,) = _deliver(rest)
    assert (outcome.is_delivered, outcome.status) == (False, 401)


@pytest.mark.parametrize(
    "answer",
    [{"status": 400, "body": "no such client pass-word-of-mine"}, {"body": "[]"}, {"body": "{}"}],
)
def test_who_gets_no_token_stands_still(api, answer):
    api.script(answer)
    rest = _rest(api, auth={"oauth": {**OAUTH, "token_url": f"{api.url}/token"}})
    with pytest.raises(SinkError) as told:
        _deliver(rest)
    assert SECRETS["PASSWORD"] not in str(told.value)
    assert api.calls() == []


def test_a_server_of_tokens_that_is_down_is_waited_for(api):
    api.script({"status": 503}, _token("a-token"))
    rest = _rest(api, auth={"oauth": {**OAUTH, "token_url": f"{api.url}/token"}})
    (outcome,) = _deliver(rest)
    assert (outcome.is_delivered, outcome.tries) == (True, 2)


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "0", "127.1", "2130706433", "0x7f.1", "169.254.169.254"],
)
def test_an_address_that_is_not_public_is_not_called(api, host):
    port = api.url.rpartition(":")[2]
    with pytest.raises(SinkError, match="no public address"):
        _deliver(_rest(api, url=f"http://{host}:{port}/sessions", allow_private=False))
    assert api.calls() == []


def test_a_certificate_is_checked(tmp_path):
    authority, other = Authority(tmp_path / "ours"), Authority(tmp_path / "others")
    its_own, of_another = authority.sign("api", ("127.0.0.1",)), authority.sign("b", ("10.0.0.1",))
    expired = authority.sign("old", ("127.0.0.1",), lasts=timedelta(days=-1))
    for signed, ca, reaches in (
        (its_own, authority.file, True),
        (its_own, other.file, False),
        (its_own, None, False),
        (of_another, authority.file, False),
        (expired, authority.file, False),
    ):
        with running_api(tmp_path, signed=signed) as api:
            trusted = {"ca": str(ca)} if ca else {}
            (outcome,) = _deliver(_rest(api, give_up_after="1s", **trusted))
        assert outcome.is_delivered is reaches
        assert reaches or "CERTIFICATE_VERIFY_FAILED" in outcome.reason


def test_authorities_that_cannot_be_read_are_told(api, tmp_path):
    with pytest.raises(SinkError, match="Name a PEM file"):
        _deliver(_rest(api, ca=str(tmp_path / "none.pem")))
