"""Types of JSON values as columns have them, two made one: by `anyOf`, by `allOf`, over time. Pure.

A type that holds any value is text, `formats.json.values.ANY_VALUE`; None holds no value at all.
"""

from collections.abc import Callable
from typing import TypeAlias

import pyarrow as pa

from lake_assets.formats.json.values import ANY_VALUE

Kind: TypeAlias = pa.DataType | None
_Join: TypeAlias = Callable[[Kind, Kind], Kind]

TIMES = frozenset({pa.timestamp("us", tz="UTC"), pa.date32()})
"""Types that are texts in JSON."""


def either(one: Kind, other: Kind) -> Kind:
    """A type of which values of both are: wider than either where it must be."""
    if one is None or one == other:
        return other
    if other is None:
        return one
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.string() in {one, other} and {one, other} & TIMES:
        return pa.string()
    return _inside(one, other, either) or ANY_VALUE


def both(one: Kind, other: Kind) -> Kind:
    """A type of which values are that are of both."""
    if one is None or other is None:
        return None
    if ANY_VALUE in {one, other}:
        return other if one == ANY_VALUE else one
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.int64()
    if pa.string() in {one, other} and {one, other} & TIMES:
        return other if one == pa.string() else one
    return one if one == other else _inside(one, other, both) or ANY_VALUE


def held(have: pa.DataType, came: pa.DataType) -> pa.DataType:
    """A column's type after a version of the schema came: wider, or as it was.

    What it does not hold then is told value by value, as of any declared column.
    """
    if {have, came} == {pa.string(), ANY_VALUE}:
        return ANY_VALUE
    is_number = pa.types.is_integer(have) and came in {pa.int64(), pa.float64()}
    if is_number or (pa.types.is_float32(have) and came == pa.float64()):
        return came
    return _inside(have, came, _held) or have


def stored(kind: pa.DataType) -> pa.DataType:
    """The type as tables have it."""
    if pa.types.is_struct(kind):
        return pa.struct([(one.name, stored(one.type)) for one in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field("item", stored(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(pa.string(), stored(kind.item_type))
    return pa.string() if kind == ANY_VALUE else kind


def _held(have: Kind, came: Kind) -> Kind:
    if have is None or came is None:
        return have if came is None else came
    return held(have, came)


def _inside(one: pa.DataType, other: pa.DataType, join: _Join) -> Kind:
    """Structs, lists and maps joined by what is in them; None if they are not two of a kind."""
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {field.name: field.type for field in one}
        for field in other:
            known = field.name in fields
            kind = join(fields[field.name], field.type) if known else field.type
            if kind is not None and (known or not _is_twin(field.name, fields)):
                fields[field.name] = kind
        return pa.struct(list(fields.items()))
    if pa.types.is_list(one) and pa.types.is_list(other):
        item = join(one.value_type, other.value_type)
        return None if item is None else pa.list_(pa.field("item", item))
    if pa.types.is_map(one) and pa.types.is_map(other):
        item = join(one.item_type, other.item_type)
        return None if item is None else pa.map_(pa.string(), item)
    return None


def _is_twin(name: str, others: dict[str, pa.DataType]) -> bool:
    """Whether a name differs from another by case alone."""
    return name.lower() in {one.lower() for one in others}
