"""What is said to a database for some rows: insert, or insert and update where a row is newer."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from lake_assets.model.sql_sink import SqlSink
from lake_assets.postgres.failures import NullKeyError
from lake_assets.sinks.base import origins_of
from lake_assets.sinks.far_times import python_values
from lake_assets.sinks.sql.values import fitting

TIME, OFFSET = "_lake_time", "_lake_offset"
"""Columns by which the newer row of a key is told where the sink names no `version`."""


def own_columns(sink: SqlSink) -> dict[str, pa.DataType]:
    """The columns that we add to rows, with their types."""
    kinds: dict[str, pa.DataType] = {}
    if sink.origin is not None:
        kinds[sink.origin] = pa.string()
    if sink.key and sink.version is None:
        kinds |= {TIME: pa.timestamp("us", tz="UTC"), OFFSET: pa.int64()}
    return kinds


def key_columns(sink: SqlSink) -> tuple[str, ...]:
    """The columns by which the table's rows are told apart; none if they are not."""
    return sink.key or ((sink.origin,) if sink.origin else ())


def completed(
    sink: SqlSink, values: Sequence[Mapping[str, Any]], origins: pa.Table
) -> list[dict[str, Any]]:
    """Rows with our own columns; `origins` is their `IDENTITY`."""
    columns: dict[str, list[Any]] = {}
    if sink.origin is not None:
        columns[sink.origin] = origins_of(origins)
    if sink.key and sink.version is None:
        columns[TIME] = python_values(origins["source_time"])
        columns[OFFSET] = origins["offset"].to_pylist()
    return [
        {**row, **{name: column[number] for name, column in columns.items()}}
        for number, row in enumerate(values)
    ]


def newest(sink: SqlSink, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest row of each key, ordered by key, so that two calls wait for each other in turn.

    Of two that are as new, the later. All rows, if they have no key of their own; and all where
    what tells the newer is a text, which the table's column may compare as a number or a time.

    Raises:
        NullKeyError: a row has null in its key.
    """
    if not sink.key:
        return list(rows)
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        missing = next((name for name in sink.key if row[name] is None), None)
        if missing is not None:
            raise NullKeyError(f"{missing} is null, and part of the key")
    if any(isinstance(row[sink.version or TIME], str) for row in rows):
        return sorted(rows, key=partial(_key, sink))
    for row in rows:
        key = _key(sink, row)
        before = found.get(key)
        if before is None or _is_newer(sink, row, before):
            found[key] = row
    return [found[key] for key in sorted(found)]


def _key(sink: SqlSink, row: Mapping[str, Any]) -> str:
    return repr([row[name] for name in sink.key])


def _is_newer(sink: SqlSink, row: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    if sink.version is None:
        return bool((row[TIME], row[OFFSET]) >= (before[TIME], before[OFFSET]))
    mine, other = row[sink.version], before[sink.version]
    return other is None or (mine is not None and bool(mine >= other))


def statement_for(sink: SqlSink, table: sa.Table, names: Sequence[str], dialect: str) -> sa.Insert:
    """What writes rows that have some columns.

    Args:
        sink: as it is declared.
        table: as it is, with all of these columns.
        names: of the columns.
        dialect: `postgresql` or `sqlite`.
    """
    insert: Any = (sqlite if dialect == "sqlite" else postgresql).insert(table)
    key = key_columns(sink)
    if not key:
        return cast("sa.Insert", insert)
    there = [table.c[name] for name in key]
    others = [name for name in names if name not in key]
    if not sink.key or not others:
        return cast("sa.Insert", insert.on_conflict_do_nothing(index_elements=there))
    new = insert.excluded
    if sink.version is not None:
        is_newer = new[sink.version] >= table.c[sink.version]
        is_first = table.c[sink.version].is_(None)
    else:
        is_newer = sa.tuple_(new[TIME], new[OFFSET]) >= sa.tuple_(table.c[TIME], table.c[OFFSET])
        is_first = table.c[TIME].is_(None)
    updating = insert.on_conflict_do_update(
        index_elements=there,
        set_={name: new[name] for name in others},
        where=sa.or_(is_first, is_newer),
    )
    return cast("sa.Insert", updating)


def delete_for(sink: SqlSink, table: sa.Table) -> sa.Delete:
    """What deletes rows by their keys, unless the table has newer ones; takes `own_columns`, too.

    A row of the same time and offset is of the same version of a view, which has it then.
    """
    is_it = (table.c[name] == sa.bindparam(f"gone_{name}") for name in sink.key)
    mine = sa.tuple_(sa.bindparam(f"gone_{TIME}"), sa.bindparam(f"gone_{OFFSET}"))
    is_older = sa.tuple_(table.c[TIME], table.c[OFFSET]) < mine
    return sa.delete(table).where(*is_it, sa.or_(table.c[TIME].is_(None), is_older))


def gone_by(sink: SqlSink, table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row's values as `delete_for` takes them."""
    names = (*sink.key, TIME, OFFSET)
    return {f"gone_{name}": fitting(row[name], table.c[name].type) for name in names}


def bound(table: sa.Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """A row's values as the table's columns take them."""
    return {name: fitting(value, table.c[name].type) for name, value in row.items()}
