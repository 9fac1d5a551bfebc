"""A table as a sink's target: a call is a transaction, and what fails in it is found by halves."""

import asyncio
import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self

import pyarrow as pa
from pydantic import SecretStr
from sqlalchemy.exc import SQLAlchemyError
from tenacity import AsyncRetrying, retry_if_exception, stop_after_delay, wait_random_exponential

from lake_assets.errors import SinkError, first_line
from lake_assets.model.sql_sink import SqlSink
from lake_assets.postgres.failures import UnfitValueError, Verdict, verdict_of, words_of
from lake_assets.settings.secrets import Secrets
from lake_assets.sinks.base import Call, DeletedRow, Outcome
from lake_assets.sinks.sql.database import SinkTable, engine_of
from lake_assets.sinks.sql.statements import (
    bound,
    completed,
    delete_for,
    gone_by,
    key_columns,
    newest,
    own_columns,
    statement_for,
)
from lake_assets.sinks.sql.values import as_json, sql_rows

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 10.0
"""Before the second try up to half a second, before each later one up to twice as long."""

_TRIED_FOR_S = 60.0
"""Seconds that a transaction is tried while the database is away; then the sink stands still, which
is told, and goes on when the database is back. No row is a dead letter for that."""

_KEPT_CHARACTERS = 16_384
"""Of a row that a dead letter has."""

_STEP = "Check the database, user, password and rights; rows wait in silver"


class _Tried(NamedTuple):
    refusal: SQLAlchemyError | None
    """None if the rows are written."""

    tries: int
    seconds: float


class SqlTarget:
    """Writes calls to a table."""

    def __init__(
        self,
        sink: SqlSink,
        look_up: Callable[[str], SecretStr],
        *,
        tried_for_s: float = _TRIED_FOR_S,
    ) -> None:
        """Nothing is connected yet; `look_up` knows secrets by their variables.

        Raises:
            SettingsError: a secret is not there.
            SinkError: the address is none.
        """
        self.rows_per_call, self.in_flight = sink.rows_per_call, sink.calls_in_flight
        self._sink, self._secrets = sink, Secrets(look_up)
        self._tried_for_s = tried_for_s
        self._engine = engine_of(sink, self._secrets, within_s=sink.timeout.total_seconds())
        self._table = SinkTable(sink, self._engine)
        self._looking = threading.Lock()
        self._kinds: dict[str, pa.DataType] = {}

    async def __aenter__(self) -> Self:
        """Look at the table, if the database answers; one that is away is waited for by calls."""
        try:
            await asyncio.to_thread(self._table.ensure_fits)
        except SQLAlchemyError as problem:
            if verdict_of(problem) is not Verdict.AGAIN:
                self._engine.dispose()
                raise self._stopped(problem) from problem
        except SinkError:
            self._engine.dispose()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close all connections."""
        await asyncio.to_thread(self._engine.dispose)

    def rows_of(self, columns: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
        """Rows of Python's values; the columns' types are what a table is made by.

        Raises:
            SinkError: a field that the sink names is not there.
        """
        lacking = next((name for name in self._sink.fields if name not in columns), None)
        if lacking is not None:
            fact = f"{lacking} is no field of the rows: they have {', '.join(columns)}"
            raise SinkError(f"table {self._sink.table}", fact, "Correct `key` and `version`")
        with self._looking:
            self._kinds |= {name: column.type for name, column in columns.items()}
        return sql_rows(columns)

    def body_of(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The rows."""
        return list(rows)

    async def deliver(self, call: Call) -> list[Outcome]:
        """As `base.Target`; rows that are refused are told one by one, the others are written."""
        outcomes: list[Outcome] = []
        left = [list(range(len(call.body)))]
        while left:
            numbers = left.pop()
            part = call.part(numbers, [call.body[number] for number in numbers])
            tried = await self._tried(part)
            if tried.refusal is None:
                outcomes.append(_delivered(part, tried))
            elif len(numbers) == 1:
                outcomes.append(self._refused(part, tried))
            else:
                half = len(numbers) // 2
                left += [numbers[half:], numbers[:half]]
        return outcomes

    async def _tried(self, part: Call) -> _Tried:
        retrying = AsyncRetrying(
            retry=retry_if_exception(_may_pass),
            stop=stop_after_delay(self._tried_for_s),
            wait=wait_random_exponential(multiplier=_FIRST_WAIT_S, max=_LONGEST_WAIT_S),
            reraise=True,
        )
        began = monotonic()

        async def once() -> None:
            nonlocal began
            began = monotonic()
            await asyncio.to_thread(self._write, part)

        refusal = None
        try:
            await retrying(once)
        except SQLAlchemyError as problem:
            if verdict_of(problem) is not Verdict.REFUSED:
                raise self._stopped(problem) from problem
            refusal = problem
        tries = int(retrying.statistics["attempt_number"])
        return _Tried(refusal=refusal, tries=tries, seconds=monotonic() - began)

    def _write(self, part: Call) -> None:
        sink = self._sink
        made = completed(sink, part.body, part.rows)
        is_gone = [isinstance(row, DeletedRow) for row in part.body]
        gone = list(compress(made, is_gone))
        rows = newest(sink, [row for row, goes in zip(made, is_gone, strict=True) if not goes])
        kinds = own_columns(sink)
        with self._looking:
            names = {name for row in (*rows, *gone) for name in row}
            wanted = {name: self._kinds[name] for name in self._kinds if name in names} | kinds
            table = self._table.with_columns(wanted)
        together: dict[tuple[str, ...], list[dict[str, Any]]] = {}
        for row in rows:
            together.setdefault(tuple(row), []).append(bound(table, row))
        with self._engine.begin() as connection:
            if gone:
                keys = sorted((gone_by(sink, table, row) for row in gone), key=repr)
                connection.execute(delete_for(sink, table), keys)
            for names_of_rows, alike in together.items():
                name = self._engine.dialect.name
                statement = statement_for(sink, table, names_of_rows, name)
                try:
                    connection.execute(statement, alike)
                except (ArithmeticError, AttributeError, TypeError, ValueError) as problem:
                    # Of what writes values to the database: it has none for one of them.
                    raise UnfitValueError(first_line(problem)) from problem

    def _refused(self, part: Call, tried: _Tried) -> Outcome:
        assert tried.refusal is not None  # noqa: S101 - asked by the caller
        words = self._secrets.masked(words_of(tried.refusal))
        keys = ", ".join(key_columns(self._sink))
        what = "delete from" if isinstance(part.body[0], DeletedRow) else "insert into"
        request = f"{what} {self._sink.table}" + (f" by {keys}" if keys else "")
        return Outcome(
            call=part,
            is_delivered=False,
            tries=tried.tries,
            seconds=tried.seconds,
            reason=f"is refused: {words}"[:_KEPT_CHARACTERS],
            request=f"{request}\n\n{as_json(part.body[0])}"[:_KEPT_CHARACTERS],
            response=words[:_KEPT_CHARACTERS],
        )

    def _stopped(self, problem: SQLAlchemyError) -> SinkError:
        fact = f"cannot be written ({self._secrets.masked(words_of(problem))})"
        return SinkError(f"table {self._sink.table} of {self._sink.url}", fact, _STEP)


def _may_pass(problem: BaseException) -> bool:
    return isinstance(problem, SQLAlchemyError) and verdict_of(problem) is Verdict.AGAIN


def _delivered(part: Call, tried: _Tried) -> Outcome:
    return Outcome(call=part, is_delivered=True, tries=tried.tries, seconds=tried.seconds)
