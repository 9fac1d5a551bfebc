"""An HTTP API as a sink's target: a call is tried until it is delivered, refused, or given up."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState, retry_if_result, wait_random_exponential

from lake_assets.model.rest import Body, Rest
from lake_assets.settings.secrets import Secrets
from lake_assets.sinks.base import Call, Outcome
from lake_assets.sinks.json_values import json_rows
from lake_assets.sinks.rest.addresses import PublicOnly
from lake_assets.sinks.rest.answers import Verdict, asked_pause_s, verdict_of
from lake_assets.sinks.rest.authorize import (
    Authorization,
    ClientCredentials,
    Standing,
    TokenUnavailableError,
)
from lake_assets.sinks.rest.connection import Answer, Connection, tls_context
from lake_assets.sinks.rest.pace import Pace

_LOG = logging.getLogger(__name__)

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 60.0
"""Before the second try up to half a second, before each later one up to twice as long as before;
longer than a minute an API that is back would stand idle."""

_UNAUTHORIZED = 401

_KEPT_CHARACTERS = 16_384
"""Of a request and of a response that a dead letter has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Try:
    verdict: Verdict
    answer: Answer


class RestTarget:
    """POSTs calls to an API."""

    def __init__(self, rest: Rest, look_up: Callable[[str], SecretStr]) -> None:
        """Nothing is connected yet; `look_up` knows secrets by their variables.

        Raises:
            SettingsError: a secret is not there.
            SinkError: the authorities cannot be read.
        """
        self.rows_per_call = rest.rows_per_call
        self.in_flight = rest.in_flight
        self._rest = rest
        self._secrets = Secrets(look_up)
        self._standing = Standing(rest.auth, self._secrets)
        if rest.auth and rest.auth.oauth:
            self._secrets.value(rest.auth.oauth.client_secret)
        self._tls = tls_context(rest.ca)
        self._timeout_s = rest.timeout.total_seconds()
        self._give_up_s = rest.give_up_after.total_seconds()
        self._headers = {
            "Content-Type": _CONTENT_TYPES[rest.body],
            "User-Agent": "lake-assets",
            "Accept": "*/*",
            **rest.headers,
        }
        self._pace = Pace(rest.rate)
        self._wait = wait_random_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S)

    async def __aenter__(self) -> Self:
        """Open the pool; a token is asked for by the first call."""
        rest, oauth = self._rest, self._rest.auth.oauth if self._rest.auth else None
        addresses = PublicOnly(allow_private=rest.allow_private)
        self._connection = Connection(addresses, self._tls, rest.in_flight + (1 if oauth else 0))
        self._authorization: Authorization = self._standing
        if oauth:
            self._authorization = ClientCredentials(
                oauth, self._secrets, self._connection, within_s=self._timeout_s
            )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await self._connection.close()

    def body_of(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """Rows as the JSON that was declared."""
        if self._rest.body is Body.ROW:
            return _json(rows[0])
        if self._rest.body is Body.ARRAY:
            return _json(rows)
        return b"".join(_json(row) + b"\n" for row in rows)

    def rows_of(self, columns: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
        """Rows with JSON's values."""
        return json_rows(columns)

    async def deliver(self, call: Call) -> tuple[Outcome]:
        """As `base.Target`: an API takes all of a call's rows, or none."""
        return (await self._outcome_of(call),)

    async def _outcome_of(self, call: Call) -> Outcome:
        began, paused_before = monotonic(), self._pace.paused_s
        first = last = await self._try(call)
        tries = 1
        if first.verdict is Verdict.AGAIN:

            def is_over(_: RetryCallState) -> bool:
                paused_s = self._pace.paused_s - paused_before
                return monotonic() - began - paused_s >= self._give_up_s

            last, tries = await self._again(call, first, is_over)
        if last.verdict is Verdict.DELIVERED:
            return Outcome(
                call=call,
                is_delivered=True,
                tries=tries,
                seconds=last.answer.seconds,
                status=last.answer.status,
            )
        return self._given_up(call, last, tries)

    async def _again(
        self, call: Call, first: _Try, is_over: Callable[[RetryCallState], bool]
    ) -> tuple[_Try, int]:
        """The last try of a call whose first one is to be repeated, and how many there were.

        Only then are there retries: what keeps them costs a sixth of a call that needs none.
        """
        made = iter([first])

        async def attempt() -> _Try:
            return next(made, None) or await self._try(call)

        retrying = AsyncRetrying(
            retry=retry_if_result(lambda one: one.verdict is Verdict.AGAIN),
            stop=is_over,
            wait=self._wait,
            retry_error_callback=_last_result,
        )
        return await retrying(attempt), int(retrying.statistics["attempt_number"])

    async def _try(self, call: Call, *, is_again: bool = False) -> _Try:
        await self._pace.turn()
        try:
            who = await self._authorization.headers()
        except TokenUnavailableError as problem:
            text = f"the server of tokens {problem}"
            return _Try(verdict=Verdict.AGAIN, answer=_none(text))
        headers = {**self._headers, "Idempotency-Key": call.key, **who}
        answer = await self._connection.post(
            self._rest.url, headers, call.body, within_s=self._timeout_s
        )
        if answer.status is None:
            return _Try(verdict=Verdict.AGAIN, answer=answer)
        verdict = verdict_of(answer.status)
        if verdict is Verdict.AGAIN:
            pause_s = asked_pause_s(answer.headers, datetime.now(UTC))
            if pause_s is not None:
                self._pace.pause(pause_s)
        if answer.status == _UNAUTHORIZED and not is_again and self._authorization.refused(who):
            return await self._try(call, is_again=True)
        return _Try(verdict=verdict, answer=answer)

    def _given_up(self, call: Call, last: _Try, tries: int) -> Outcome:
        answer = last.answer
        what = answer.problem or f"answers {answer.status}"
        how = f" after {tries} tries" if last.verdict is Verdict.AGAIN else ""
        shown = {**self._headers, "Idempotency-Key": call.key}
        request = _message(f"POST {self._rest.url}", shown, call.body)
        response = _message(f"{answer.status or answer.problem}", answer.headers, answer.content)
        return Outcome(
            call=call,
            is_delivered=False,
            tries=tries,
            seconds=answer.seconds,
            status=answer.status,
            reason=self._secrets.masked(f"{what}{how}"),
            request=self._secrets.masked(request)[:_KEPT_CHARACTERS],
            response=self._secrets.masked(response)[:_KEPT_CHARACTERS],
        )


_CONTENT_TYPES = {
    Body.ROW: "application/json",
    Body.ARRAY: "application/json",
    Body.NDJSON: "application/x-ndjson",
}

_HIDDEN = frozenset({"set-cookie", "authorization", "www-authenticate"})


def _last_result(state: RetryCallState) -> Any:  # noqa: ANN401 - tenacity's
    return state.outcome.result() if state.outcome else None


def _none(problem: str) -> Answer:
    return Answer(status=None, seconds=0.0, headers={}, problem=problem)


def _message(first: str, headers: Mapping[str, str], body: bytes) -> str:
    lines = (f"{name}: {value}" for name, value in headers.items() if name.lower() not in _HIDDEN)
    return "\n".join([first, *lines, "", body[: 4 * _KEPT_CHARACTERS].decode(errors="replace")])


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
