"""Which columns a declared schema makes, and what type a value that nobody declared has."""

import re
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from lake_assets.formats.json.numbers import NEGATIVE_ZERO, Number, is_bigint
from lake_assets.model.ddl import Array, Column, Decimal, Map, Scalar, Type, columns_of_ddl
from lake_assets.model.payload import RESCUED
from lake_assets.model.sources import ORIGIN_NAMES

_SCALARS = {
    "string": pa.string(),
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "binary": pa.binary(),
}

_RANKS = ("double", "bigint", "boolean", "string")
"""Types of scalars that are inferred, in the order in which they are chosen."""

_ADDABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")

MOST_COLUMNS = 500
"""Columns that a table may get by values that nobody declared. Producers that write ids as names
would else make a column an event; a table of thousands is slow to plan for every engine."""

_DEEPEST = 5
"""Levels of a type that is inferred; what is deeper is rescued, as is what has no one type."""


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """The columns in Arrow, all nullable at any depth."""
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in columns])


def arrow_type(kind: Type) -> pa.DataType:
    """A declared type in Arrow."""
    match kind:
        case Scalar(name):
            return _SCALARS[name]
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(item):
            return pa.list_(pa.field("item", arrow_type(item)))
        case Map(value):
            return pa.map_(pa.string(), arrow_type(value))
    return pa.struct([pa.field(column.name, arrow_type(column.type)) for column in kind.columns])


def column_of(name: str, kind: str) -> pa.Field:
    """A column by what `inferred` says of its type."""
    return arrow_schema(columns_of_ddl(f"`{name}` {kind}")).field(0)


def can_be_added(name: str, taken: Iterable[str]) -> bool:
    """Whether a name can be that of a further column."""
    lower = name.lower()
    is_free = lower not in ORIGIN_NAMES and lower != RESCUED
    is_new = all(lower != other.lower() for other in taken)
    return _ADDABLE.fullmatch(name) is not None and is_free and is_new


def common_type(kinds: Iterable[str]) -> str:
    """The type of a column for values of several types as `inferred` has them; one at least.

    Doubles hold integers, also in arrays. Else one type is chosen and values of others are rescued,
    the same whatever the order: numbers before booleans before strings, since text among numbers is
    a mark for their absence mostly; nested types come last, of these the one that names the most.
    """
    candidates = set(kinds)
    if "double" in candidates:
        candidates.discard("bigint")
    if "array<double>" in candidates:
        candidates.discard("array<bigint>")
    return min(candidates, key=lambda kind: (_rank(kind), -len(kind), kind))


def _rank(kind: str) -> int:
    return _RANKS.index(kind) if kind in _RANKS else len(_RANKS)


def inferred(value: Any, depth: int = 1) -> str | None:  # noqa: ANN401 - any JSON value
    """The type of a value as DDL, or None if it has no one type of those that columns can have."""
    kind: str | None = None
    match value:
        case bool():
            kind = "boolean"
        case int() if is_bigint(value):
            kind = "bigint"
        case Number() if value == NEGATIVE_ZERO:
            kind = "bigint"
        case Number() if not value.is_integer and value.as_double() is not None:
            kind = "double"
        case str() if not isinstance(value, Number):
            kind = "string"
        case list() if depth < _DEEPEST:
            kind = _inferred_array(value, depth)
        case dict() if depth < _DEEPEST:
            kind = _inferred_struct(value, depth)
    return kind


def _inferred_array(items: list[Any], depth: int) -> str | None:
    kinds = {inferred(item, depth + 1) for item in items if item is not None}
    if kinds == {"bigint", "double"}:
        return "array<double>"
    return f"array<{kinds.pop()}>" if len(kinds) == 1 and None not in kinds else None


def _inferred_struct(value: dict[str, Any], depth: int) -> str | None:
    fields, names = [], set[str]()
    for name, item in value.items():
        kind = inferred(item, depth + 1)
        if item is None:
            continue
        if kind is None or _ADDABLE.fullmatch(name) is None or name.lower() in names:
            return None
        names.add(name.lower())
        fields.append(f"`{name}`: {kind}")
    return f"struct<{', '.join(fields)}>" if fields else None
