"""Columns under the names that their fields have now: values copied from older names. Pure.

Which field had which name is not known here; nor is Delta's log.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

RENAMED_FROM = b"lake_assets.renamed_from"
"""Key in a column's metadata: the older names, at any depth, whose values it has. Such a column's
table need not be looked through again."""


@dataclass(frozen=True, slots=True)
class Renames:
    """Older names of columns, or of a struct's fields."""

    now: Mapping[str, str] = field(default_factory=dict)
    """By older name, the newest."""

    within: Mapping[str, "Renames"] = field(default_factory=dict)
    """By newest name, those of the fields within: of a struct, a list's or a map's structs."""

    def __bool__(self) -> bool:
        """Whether anything was renamed."""
        return bool(self.now or self.within)


def marked(columns: pa.Schema, renames: Renames) -> pa.Schema:
    """The columns, each saying in its metadata which older ones among them it has the values of."""
    return pa.schema(
        [
            _with_marks(column, {*_marks(column), *_older(columns, column, renames)})
            for column in columns
        ]
    )


def without_stale_marks(columns: pa.Schema, renames: Renames) -> pa.Schema:
    """The columns without marks of names that are the newest again: newer rows have them alone."""
    return pa.schema([_with_marks(f, set(_marks(f)) - {*_newest(f, renames)}) for f in columns])


def _with_marks(one: pa.Field, older: Collection[str]) -> pa.Field:
    entries = dict(one.metadata or {})
    if older or RENAMED_FROM in entries:  # empty, since a table keeps what it is not told otherwise
        entries[RENAMED_FROM] = ",".join(sorted(older)).encode()
    return one.with_metadata(entries or None)


def unmarked(have: pa.Schema, wanted: pa.Schema) -> list[str]:
    """Columns of `wanted` that say of more older names than those of `have` that they have them."""
    marks = {column.name: set(_marks(column)) for column in have}
    return [
        column.name for column in wanted if not set(_marks(column)) <= marks.get(column.name, set())
    ]


def under_newest(rows: pa.RecordBatch, schema: pa.Schema, renames: Renames) -> pa.Table:
    """Rows as `schema` has them; a value stands under its field's newest name, too.

    Raises:
        ArrowInvalid: a type does not hold the values.
    """
    have = dict(zip(rows.schema.names, rows.columns, strict=True))
    arrays = [_column(have, column, renames, rows.num_rows) for column in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _column(have: Mapping[str, pa.Array], wanted: pa.Field, renames: Renames, rows: int) -> Any:  # noqa: ANN401 - an array
    names = [wanted.name, *(old for old, now in renames.now.items() if now == wanted.name)]
    inner = renames.within.get(wanted.name, Renames())
    arrays = [_fitted(have[name], wanted.type, inner) for name in names if name in have]
    if not arrays:
        return pa.nulls(rows, wanted.type)
    # A row has its value under one of the names.
    return pc.coalesce(*arrays) if len(arrays) > 1 else arrays[0]


def _fitted(array: pa.Array, kind: pa.DataType, renames: Renames) -> Any:  # noqa: ANN401
    if not renames:
        return array if array.type == kind else _wide(array, kind)
    if pa.types.is_struct(kind):
        have = {
            struct_field.name: array.field(index) for index, struct_field in enumerate(array.type)
        }
        fields = list(kind)
        parts = [_column(have, struct_field, renames, len(array)) for struct_field in fields]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=array.is_null())
    if pa.types.is_list(kind):
        items = _fitted(array.values, kind.value_type, renames)
        return pa.ListArray.from_arrays(array.offsets, items, type=kind, mask=array.is_null())
    if pa.types.is_map(kind):
        keys, items = array.keys.cast(kind.key_type), _fitted(array.items, kind.item_type, renames)
        return pa.MapArray.from_arrays(array.offsets, keys, items, type=kind, mask=array.is_null())
    return _wide(array, kind)


def _wide(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """As a wider type; `bigint` becomes the nearest `double`, as Avro promotes a number."""
    return array.cast(options=pc.CastOptions(kind, allow_float_truncate=True))


def _marks(one: pa.Field) -> list[str]:
    text = (one.metadata or {}).get(RENAMED_FROM, b"").decode()
    return text.split(",") if text else []


def _older(columns: pa.Schema, one: pa.Field, renames: Renames) -> Iterator[str]:
    """The older names, with those they are nested in, that are there beside or within a column."""
    old_names = [old for old, now in renames.now.items() if now == one.name]
    there = [old for old in old_names if old in columns.names]
    yield from there
    for name in (one.name, *there):
        inner = renames.within.get(one.name, Renames())
        yield from (f"{name}.{path}" for path in _paths(columns.field(name).type, inner))


def _newest(one: pa.Field, renames: Renames) -> Iterator[str]:
    """A column's newest name and those of the fields within it, as marks name them."""
    if one.name in renames.now:
        yield renames.now[one.name]
    inner = renames.within.get(one.name, Renames())
    yield from (f"{one.name}.{path}" for path in _newest_within(inner))


def _newest_within(renames: Renames) -> Iterator[str]:
    yield from renames.now.values()
    for name, inner in renames.within.items():
        yield from (f"{name}.{path}" for path in _newest_within(inner))


def _paths(kind: pa.DataType, renames: Renames) -> Iterator[str]:
    if pa.types.is_list(kind):
        yield from _paths(kind.value_type, renames)
    elif pa.types.is_map(kind):
        yield from _paths(kind.item_type, renames)
    elif pa.types.is_struct(kind):
        names = [struct_field.name for struct_field in kind]
        yield from (old for old in renames.now if old in names)
        for name in names:
            inner = renames.within.get(renames.now.get(name, name), Renames())
            yield from (f"{name}.{path}" for path in _paths(kind.field(name).type, inner))
