"""A class of the user's as a sink's target: calls go to its processes, which may fail anyhow."""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, NoReturn, Self

import pyarrow as pa
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState, retry_if_result, wait_random_exponential

from lake_assets.errors import SinkError
from lake_assets.model.python_sink import PythonSink
from lake_assets.settings.secrets import Secrets
from lake_assets.sinks.base import Call, Outcome
from lake_assets.sinks.json_values import json_rows
from lake_assets.sinks.python.process import Answer, Process

_LOG = logging.getLogger(__name__)

_KEPT_CHARACTERS = 16_384
"""Of a request that a dead letter has."""


class _Try(NamedTuple):
    answer: Answer
    seconds: float


class PythonTarget:
    """Delivers calls by a class of the user's."""

    def __init__(self, sink: PythonSink, look_up: Callable[[str], SecretStr]) -> None:
        """No process is started yet; `look_up` knows secrets by their variables.

        Raises:
            SettingsError: a secret is not there.
        """
        self.rows_per_call, self.in_flight = sink.rows_per_call, sink.processes
        self._sink, self._secrets = sink, Secrets(look_up)
        self._given = {name: self._secrets.value(one) for name, one in sink.secrets.items()}
        self._give_up_s = sink.give_up_after.total_seconds()
        self._idle: list[Process] = []
        self._usual_wait = wait_random_exponential(multiplier=0.5, max=60.0)

    async def __aenter__(self) -> Self:
        """Start a process and have the class made."""
        try:
            self._idle.append(await Process.start(self._sink, self._given))
        except SinkError as problem:
            self._stop(problem.fact)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all processes."""
        await asyncio.gather(*(process.close() for process in self._idle))
        self._idle.clear()

    def rows_of(self, columns: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
        """Rows with JSON's values."""
        return json_rows(columns)

    def body_of(self, rows: Sequence[Mapping[str, Any]]) -> bytes:
        """The rows as an array of JSON."""
        return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()

    async def deliver(self, call: Call) -> list[Outcome]:
        """As `base.Target`; rows that the class refuses are apart from those that arrived."""
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda one: "retry" in one.answer),
            stop=lambda state: (state.seconds_since_start or 0.0) >= self._give_up_s,
            wait=self._wait_of,
            retry_error_callback=_last_result,
            before_sleep=_tell,
        )
        last: _Try = await retrying(self._try, call)
        tries = int(retrying.statistics["attempt_number"])
        answer, count = last.answer, call.rows.num_rows
        if "unusable" in answer:
            self._stop(str(answer["unusable"]))
        refused = list(answer.get("rows", range(count))) if "done" not in answer else []
        arrived = sorted(set(range(count)) - set(refused))
        outcomes = []
        if arrived:
            part = call.part(arrived, call.body)
            outcomes.append(
                Outcome(call=part, is_delivered=True, tries=tries, seconds=last.seconds)
            )
        if refused:
            outcomes.append(self._given_up(call, refused, last, tries))
        return outcomes

    async def _try(self, call: Call) -> _Try:
        began = monotonic()
        process = self._idle.pop() if self._idle else None
        if process is None or not process.is_alive:
            try:
                process = await Process.start(self._sink, self._given)
            except SinkError as problem:
                self._stop(problem.fact)
        line = b'{"key":%b,"rows":%b}' % (json.dumps(call.key).encode(), call.body)
        began = monotonic()
        answer = await process.ask(line)
        if process.is_alive:
            self._idle.append(process)
        return _Try(answer=answer, seconds=monotonic() - began)

    def _wait_of(self, state: RetryCallState) -> float:
        asked = state.outcome.result().answer.get("after_s") if state.outcome else None
        if isinstance(asked, (int, float)) and asked >= 0:
            return min(float(asked), self._give_up_s)
        return self._usual_wait(state)

    def _given_up(self, call: Call, refused: list[int], last: _Try, tries: int) -> Outcome:
        answer = last.answer
        is_refused = "refused" in answer
        words = str(answer["refused"] if is_refused else answer["retry"])
        how = "is refused: " if is_refused else ""
        after = "" if is_refused else f" after {tries} tries"
        rows = json.loads(call.body)
        shown = json.dumps([rows[number] for number in refused], ensure_ascii=False)
        return Outcome(
            call=call.part(refused, call.body),
            is_delivered=False,
            tries=tries,
            seconds=last.seconds,
            reason=self._secrets.masked(f"{how}{words}{after}"),
            request=f"{self._sink.class_name}.deliver\n\n{shown}"[:_KEPT_CHARACTERS],
            response=self._secrets.masked(words),
        )

    def _stop(self, fact: str) -> NoReturn:
        step = "Correct the class or its options; rows wait in silver"
        raise SinkError(f"class {self._sink.class_name}", self._secrets.masked(fact), step)


def _last_result(state: RetryCallState) -> Any:  # noqa: ANN401 - tenacity's
    return state.outcome.result() if state.outcome else None


def _tell(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome is not None:
        _LOG.warning("a call is made again: %s", state.outcome.result().answer["retry"])


def ensure_makeable(sink: PythonSink, look_up: Callable[[str], SecretStr]) -> None:
    """Have the class made, in a process that ends then; nothing is sent.

    Raises:
        SettingsError: a secret is not there.
        SinkError: it cannot be made.
    """

    async def make() -> None:
        async with PythonTarget(sink, look_up):
            pass

    asyncio.run(make())
