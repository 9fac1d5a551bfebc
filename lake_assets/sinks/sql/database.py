"""A sink's database and its table: connecting, and the table as it is or as it is made."""

from collections.abc import Mapping

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, NoSuchTableError

from lake_assets.errors import SinkError
from lake_assets.model.sql_sink import SqlSink
from lake_assets.postgres.connect import engine_for
from lake_assets.settings.secrets import Secrets
from lake_assets.sinks.sql.statements import OFFSET, TIME, key_columns, own_columns
from lake_assets.sinks.sql.values import as_json, sql_type

_NAME_BYTES = 63
"""Of a column's name. PostgreSQL cuts off what is more, and then has not what was asked for."""


def engine_of(sink: SqlSink, secrets: Secrets, *, within_s: float) -> sa.Engine:
    """What connects to a sink's database; nothing is connected yet.

    Raises:
        SettingsError: a secret is not there, or the address is none.
    """
    return engine_for(
        sink.url,
        (sink.user, sink.password),
        secrets,
        within_s=within_s,
        connections=sink.calls_in_flight,
        as_json=as_json,
    )


class SinkTable:
    """The table that a sink writes to, as it is; of one thread at a time."""

    def __init__(self, sink: SqlSink, engine: sa.Engine) -> None:
        """Nothing is looked at yet."""
        self._sink, self._engine = sink, engine
        self._table: sa.Table | None = None

    def with_columns(self, kinds: Mapping[str, pa.DataType]) -> sa.Table:
        """The table, which has at least these columns; made so if the sink lets it.

        Raises:
            SinkError: it is not there, or has not all of the columns.
            SQLAlchemyError: the database says no, or nothing.
        """
        table = self._table if self._table is not None else self._looked_up()
        if table is None and self._sink.create_table:
            table = self._created(kinds)
        if table is None:
            fact = "is not there, or may not be looked at"
            step = "Create it, or let the sink do so: `create_table: true`"
            raise SinkError(self._thing, fact, step)
        missing = [name for name in kinds if name not in table.c]
        long = next((name for name in missing if len(name.encode()) > _NAME_BYTES), None)
        if long is not None:
            fact = f"cannot have a column {long!r}: a name has at most {_NAME_BYTES} bytes"
            raise SinkError(self._thing, fact, "Name it otherwise by `select`")
        if missing:
            table = self._extended(table, {name: kinds[name] for name in missing})
        self._table = table
        return table

    def ensure_fits(self) -> None:
        """Make sure that the table is there, or may be made, with what the sink names.

        Raises:
            SinkError: it is not, or lacks a column or a unique index.
        """
        table = self._looked_up()
        if table is None and self._sink.create_table:
            return
        needed = {name: pa.null() for name in (*self._sink.fields, *own_columns(self._sink))}
        if table is None or not self._sink.create_table:
            table = self.with_columns(needed)
        self._ensure_unique(table)

    @property
    def _thing(self) -> str:
        return f"table {self._sink.table} of {self._sink.url}"

    def _looked_up(self) -> sa.Table | None:
        sink = self._sink
        try:
            table = sa.Table(
                sink.table_name,
                sa.MetaData(),
                schema=sink.schema_name,
                autoload_with=self._engine,
                resolve_fks=False,
            )
        except NoSuchTableError:
            return None
        for column in table.c:
            if isinstance(column.type, sa.JSON):
                column.type.none_as_null = True
        return table

    def _ensure_unique(self, table: sa.Table) -> None:
        key = set(key_columns(self._sink))
        if not key or key == {column.name for column in table.primary_key}:
            return
        found = sa.inspect(self._engine).get_indexes(table.name, schema=table.schema)
        plain = (one for one in found if not one.get("dialect_options", {}).get("postgresql_where"))
        if not any(one["unique"] and set(one["column_names"]) == key for one in plain):
            names = ", ".join(key_columns(self._sink))
            step = f"Create one: create unique index on {self._sink.table} ({names})"
            raise SinkError(self._thing, f"has no unique index over {names}", step)

    def _created(self, kinds: Mapping[str, pa.DataType]) -> sa.Table | None:
        sink, key = self._sink, key_columns(self._sink)
        columns = [
            sa.Column(
                name,
                sql_type(kind),
                primary_key=name in key,
                autoincrement=False,
                nullable=name not in key,
            )
            for name, kind in kinds.items()
        ]
        table = sa.Table(sink.table_name, sa.MetaData(), *columns, schema=sink.schema_name)
        try:
            table.create(self._engine)
        except DBAPIError:
            if self._looked_up() is None:
                raise
        return self._looked_up()  # another sink may have made it meanwhile

    def _extended(self, table: sa.Table, kinds: Mapping[str, pa.DataType]) -> sa.Table:
        if not self._sink.create_table:
            names = ", ".join(kinds)
            step = "Add it, `select` the fields that the table has, or set `create_table: true`"
            if kinds.keys() & {TIME, OFFSET}:
                step = (
                    f"Name the field that tells the newer row (`version: at`), or: alter table "
                    f"{self._sink.table} add column {TIME} timestamptz, add column {OFFSET} bigint"
                )
            raise SinkError(self._thing, f"has no column {names}", step)
        quoted = self._engine.dialect.identifier_preparer
        with self._engine.begin() as connection:
            for name, kind in kinds.items():
                spelled = sql_type(kind).compile(self._engine.dialect)
                place, column = quoted.format_table(table), quoted.quote(name)
                statement = f"alter table {place} add column if not exists {column} {spelled}"
                connection.exec_driver_sql(statement)
        found = self._looked_up()
        if found is None:
            raise SinkError(self._thing, "is not there any more", "Let one sink make it")
        return found
