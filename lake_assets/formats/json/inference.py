"""Types that are inferred from values, and how columns get wider by them; never narrower. Pure.

Integers are `bigint`, other numbers `double`, text is text whatever it looks like, objects are
structs, and arrays are of one type. Nulls, empty arrays and empty objects say nothing.
Docs: `docs/decisions/0056-what-is-inferred-from-values.md`.
"""

import re
from typing import Any

import pyarrow as pa

from lake_assets.formats.json.folded_types import RANKS, type_of_all
from lake_assets.formats.json.numbers import NEGATIVE_ZERO, Number, is_bigint

ADDABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
"""Names that columns, and fields of structs, can get by values."""

_DEEPEST = 5
"""Levels of a type that is inferred; what is deeper is rescued, as is what has no one type."""

_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FRACTIONS = (pa.float32(), pa.float64())

MOST_COLUMNS = 500
"""Columns, with the fields of objects, up to which a table gets some that nobody declared. Ids as
names would else make a column an event; a table of thousands is slow to plan for every engine."""


def inferred(value: Any, depth: int = 1) -> pa.DataType | None:  # noqa: ANN401 - any JSON value
    """The type of a value, or None if there is no one type that says something of it.

    Of an object it is the struct of those fields that have a type.
    """
    kind: pa.DataType | None = None
    match value:
        case bool():
            kind = pa.bool_()
        case int() if is_bigint(value):
            kind = pa.int64()
        case Number() if value == NEGATIVE_ZERO:
            kind = pa.int64()
        case Number() if not value.is_integer and value.as_double() is not None:
            kind = pa.float64()
        case str() if not isinstance(value, Number):
            kind = pa.string()
        case list() if depth < _DEEPEST:
            kind = _inferred_array(value, depth)
        case dict() if depth < _DEEPEST:
            kind = _inferred_struct(value, depth)
    return kind


def _inferred_array(items: list[Any], depth: int) -> pa.DataType | None:
    kinds = {inferred(item, depth + 1) for item in items if not _says_nothing(item)}
    # Else some items would fit, and an array is rescued as a whole.
    kind = None if None in kinds else type_of_all(kinds, MOST_COLUMNS)
    return None if kind is None else pa.list_(pa.field("item", kind))


def _says_nothing(item: object) -> bool:
    return item is None or item in ([], {})


def _inferred_struct(value: dict[str, Any], depth: int) -> pa.DataType | None:
    fields: dict[str, pa.Field] = {}
    for name, item in value.items():
        kind = inferred(item, depth + 1)
        if kind is not None and ADDABLE.fullmatch(name):
            fields.setdefault(name.lower(), pa.field(name, kind))
    return pa.struct(list(fields.values())) if fields else None


def joined(
    have: pa.DataType, came: pa.DataType, *, adds: bool = True, rounds: bool = True
) -> pa.DataType:
    """A column's type, made wider for values of an inferred one as far as that goes.

    Integers get wider, and doubles where fractions come; structs get fields; arrays go by their
    items. What does not go together stays what the column has.

    Args:
        have: the column's.
        came: the values'.
        adds: whether structs get fields.
        rounds: whether integers become doubles, which do not hold all of them.
    """
    if pa.types.is_struct(have) and pa.types.is_struct(came):
        return pa.struct(_fields(have, came, adds=adds, rounds=rounds))
    if pa.types.is_list(have) and pa.types.is_list(came):
        item = joined(have.value_type, came.value_type, adds=adds, rounds=rounds)
        return have if item == have.value_type else pa.list_(pa.field("item", item))
    for row in (_INTEGERS, _FRACTIONS):
        if have in row and came in row:
            return max(have, came, key=row.index)
    if have in _INTEGERS and came in _FRACTIONS and rounds:
        return pa.float64()
    return have


def _fields(
    have: pa.StructType, came: pa.StructType, *, adds: bool, rounds: bool
) -> list[pa.Field]:
    fields = {field.name.lower(): field for field in have}
    for field in came:
        before = fields.get(field.name.lower())
        if before is None:
            if adds:
                fields[field.name.lower()] = field
        elif before.name == field.name:
            kind = joined(before.type, field.type, adds=adds, rounds=rounds)
            fields[field.name.lower()] = before.with_type(kind)
    return list(fields.values())


def holds(have: pa.DataType, came: pa.DataType) -> bool:
    """Whether values of an inferred type fit a column, big integers in doubles aside."""
    if pa.types.is_struct(have) and pa.types.is_struct(came):
        fields = {field.name: field.type for field in have}
        return all(field.name in fields and holds(fields[field.name], field.type) for field in came)
    if pa.types.is_list(have) and pa.types.is_list(came):
        return holds(have.value_type, came.value_type)
    return have == came or (have in _FRACTIONS and came in _INTEGERS)


def news_of(
    have: pa.DataType, came: pa.DataType, *, adds: bool = True, rounds: bool = True
) -> pa.DataType | None:
    """What of an inferred type makes a column's wider, or None if nothing does; as `joined`."""
    if pa.types.is_struct(have) and pa.types.is_struct(came):
        fields = {field.name.lower(): field for field in have}
        new = []
        for field in came:
            before, kind = fields.get(field.name.lower()), None
            if before is None:
                kind = field.type if adds else None
            elif before.name == field.name:
                kind = news_of(before.type, field.type, adds=adds, rounds=rounds)
            if kind is not None:
                new.append(field.with_type(kind))
        return pa.struct(new) if new else None
    if pa.types.is_list(have) and pa.types.is_list(came):
        item = news_of(have.value_type, came.value_type, adds=adds, rounds=rounds)
        return None if item is None else pa.list_(pa.field("item", item))
    return came if joined(have, came, adds=adds, rounds=rounds) != have else None


def names_in(kind: pa.DataType) -> int:
    """How many values of one kind there are in a column: 1, or the fields of a struct."""
    if pa.types.is_struct(kind):
        return sum(names_in(field.type) for field in kind)
    return names_in(kind.value_type) if pa.types.is_list(kind) else 1


def ddl_of(kind: pa.DataType) -> str:
    """An inferred type in Spark's DDL."""
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'`{field.name}`: {ddl_of(field.type)}' for field in kind)}>"
    if pa.types.is_list(kind):
        return f"array<{ddl_of(kind.value_type)}>"
    return _WORDS[kind]


_WORDS: dict[pa.DataType, str] = dict(
    zip(RANKS, ("double", "bigint", "boolean", "string"), strict=True)
)
