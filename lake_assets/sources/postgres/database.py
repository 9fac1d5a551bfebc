"""Asking the database: one connection, one snapshot for a look or a pass, errors in our words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import sql
from pydantic import SecretStr
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from lake_assets.errors import SourceError
from lake_assets.model.postgres import schema_and_name
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.postgres.connect import engine_for
from lake_assets.postgres.failures import words_of
from lake_assets.settings.load import secret_of
from lake_assets.settings.secrets import Secrets
from lake_assets.sources.postgres import statements
from lake_assets.sources.postgres.new_rows import Row
from lake_assets.sources.postgres.position import Horizon, Snapshot
from lake_assets.sources.postgres.tables import (
    COLUMNS,
    FIND,
    SERVER,
    TABLE,
    SourceTable,
    found_table,
)

_FIRST_ROWS, _MOST_ROWS = 100, 20_000
"""Rows that are asked for at once: few until it is known how large they are."""

_BYTES = 8 * 1024 * 1024
"""Of rows that are asked for at once, about."""


class Database:
    """A connection in a transaction that reads, and sees one snapshot."""

    def __init__(self, source: PostgresSource, connection: sa.Connection) -> None:
        """Ask by a connection that is in the transaction."""
        self._source, self._connection = source, connection

    def table(self) -> SourceTable:
        """The table as it is; raises as `found_table`."""
        schema, name = schema_and_name(self._source.table)
        server = self.ask(SERVER)[0]
        number = self.ask(FIND, schema=schema, name=name)[0]["to_regclass"]
        told = [] if number is None else self.ask(TABLE, table=number)
        columns = self.ask(COLUMNS, table=number) if told else []
        return found_table(self._source, server, number, told[0] if told else None, columns)

    def snapshot(self, table: SourceTable) -> Snapshot:
        """What this transaction sees."""
        seen = self.ask(statements.SNAPSHOT)[0]
        newest = self.ask(statements.newest(self._source, table))[0]
        clock = seen["at_us"] if table.is_timed else newest["last"]
        mark = newest["last_row"]
        if mark is not None and clock is not None:
            mark = min(mark, clock)  # a value ahead of its time hides none behind it
        reached = newest["last_row"] if newest["last"] is None else newest["last"]
        return Snapshot(
            xmin=seen["xmin"],
            xmax=seen["xmax"],
            mark=mark,
            at_us=seen["at_us"],
            reached=None if table.is_timed else reached,
        )

    def horizon(self, table: SourceTable) -> Horizon:
        """This moment; what is asked next sees another snapshot, of after it."""
        mark = self.snapshot(table).mark
        number = self.ask(statements.NUMBER)[0]["number"] if table.tells_numbers else 0
        self.look_again()
        return Horizon(number=number, mark=mark)

    def look_again(self) -> None:
        """Let what is asked next see another snapshot."""
        self._connection.rollback()

    def rows(
        self, table: SourceTable, low: int | None, after: Sequence[str]
    ) -> Iterator[list[Row]]:
        """Rows in the order of watermark and key, some at a time.

        Args:
            table: as it is.
            low: the first watermark; None for all.
            after: watermark and key of a row; those behind it are wanted. Empty for all.
        """
        statement = statements.rows_from(
            self._source, table, has_low=statements.is_bound(table, low), is_resumed=bool(after)
        )
        given = {f"after{n}": text for n, text in enumerate(after)}
        with self._run(statement, {**given, "low": low}, is_stream=True) as found:
            size = _FIRST_ROWS
            while rows := [Row._make(row) for row in found.fetchmany(size)]:
                yield rows
                mean = max(1, sum(len(row.value or "") for row in rows) // len(rows))
                size = max(1, min(_MOST_ROWS, 2 * size, _BYTES // mean))

    def ask(self, statement: str | sql.Composed, **given: Any) -> Sequence[Mapping[str, Any]]:  # noqa: ANN401
        """Rows by column; for few of them."""
        with self._run(statement, given, is_stream=False) as found:
            return [dict(row) for row in found.mappings()]

    @contextmanager
    def _run(
        self, statement: str | sql.Composed, given: Mapping[str, Any], *, is_stream: bool
    ) -> Iterator[sa.CursorResult[Any]]:
        text = statement if isinstance(statement, str) else statement.as_string()
        found = self._connection.execution_options(stream_results=is_stream).exec_driver_sql(
            text, dict(given)
        )
        try:
            yield found
        finally:
            found.close()


@contextmanager
def reading(
    source: PostgresSource,
    look_up: Callable[[str], SecretStr] = secret_of,
    *,
    within_s: float | None = None,
) -> Iterator[Database]:
    """A connection that sees one snapshot.

    Args:
        source: what is declared.
        look_up: knows secrets by their variables.
        within_s: for connecting and each answer; by default what the feed declares.

    Raises:
        SettingsError: a secret is not there, or the address is none.
        SourceError: the database does not answer, refuses us or fails.
    """
    secrets = Secrets(look_up)
    engine = engine_for(
        source.url,
        (source.user, source.password),
        secrets,
        within_s=within_s or source.timeout.total_seconds(),
    )
    try:
        with engine.connect() as connection:
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            yield Database(source, connection.execution_options(**options))
    except SQLAlchemyError as problem:
        words = secrets.masked(words_of(problem))
        raise SourceError(source.title, f"cannot be read ({words})", _step(problem)) from problem
    finally:
        engine.dispose()


def _step(problem: SQLAlchemyError) -> str:
    origin = problem.orig if isinstance(problem, DBAPIError) else None
    match origin:
        case psycopg.errors.QueryCanceled():
            return "Create an index that begins with the watermark, or give a longer `timeout`"
        case psycopg.errors.InsufficientPrivilege():
            return "Grant what is missing to the user of the feed"
        case psycopg.Error() if origin.sqlstate:
            return "See to the database; what was read so far stands"
    return "Check the address, user and password, and the way to it"
