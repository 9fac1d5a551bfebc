"""Which plain values fit which field of a message, and how they are written there. Pure."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
from google.protobuf.descriptor import FieldDescriptor

from lake_assets.formats.protobuf.messages import is_map
from lake_assets.sinks.kafka.message_types import MisfitError

_INTEGERS = frozenset(
    {FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64}
    | {FieldDescriptor.CPPTYPE_UINT32, FieldDescriptor.CPPTYPE_UINT64}
)

Convert: TypeAlias = Callable[[Any], Any]
"""A value as a field takes it; raises ValueError or TypeError, as UnfitError is one."""


class UnfitError(ValueError):
    """A value does not fit its field; the text says why."""


def converting(field: FieldDescriptor, kind: pa.DataType, name: str) -> Convert:
    """What makes a field's values of a column's, neither of them messages.

    Args:
        field: of a message; of one that is repeated, each of its values.
        kind: of the column.
        name: of the column, for the error.

    Raises:
        MisfitError: the field does not hold what the column has.
    """
    for is_such, takes, convert in _FITS:
        if is_such(kind) and takes(field):
            return convert
    if pa.types.is_string(kind) and field.enum_type is not None:
        numbers = {one.name: one.number for one in field.enum_type.values}
        return lambda value: _enum(numbers, value)
    raise misfit(field, kind, name)


def _same(value: Any) -> Any:  # noqa: ANN401 - of any type
    return value


def _enum(numbers: Mapping[str, int], value: str) -> int:
    if value not in numbers:
        fact = f"is {value!r}, which its enum does not have"
        raise UnfitError(fact)
    return numbers[value]


def _text(value: Any) -> str:  # noqa: ANN401 - of any type
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds")
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


def _is_of(*kinds: int) -> Callable[[FieldDescriptor], bool]:
    return lambda field: field.type in kinds


def _takes_integers(field: FieldDescriptor) -> bool:
    return field.cpp_type in _INTEGERS


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _is_told_as_text(kind: pa.DataType) -> bool:
    is_local = pa.types.is_timestamp(kind) and kind.tz is None
    is_other = pa.types.is_decimal(kind) or pa.types.is_date(kind) or pa.types.is_time(kind)
    return bool(is_other or is_local)


def _is_whole(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) and kind.scale == 0)


def _is_short_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) and not pa.types.is_float64(kind))


_DOUBLE, _FLOAT = FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT

_FITS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[FieldDescriptor], bool], Convert], ...]
_FITS = (
    (pa.types.is_boolean, _is_of(FieldDescriptor.TYPE_BOOL), _same),
    (pa.types.is_integer, _takes_integers, _same),
    (pa.types.is_floating, _is_of(_DOUBLE), _same),
    (_is_short_float, _is_of(_FLOAT), _same),
    (_is_text, _is_of(FieldDescriptor.TYPE_STRING), _same),
    (_is_bytes, _is_of(FieldDescriptor.TYPE_BYTES), _same),
    (_is_whole, _takes_integers, int),
    (_is_told_as_text, _is_of(FieldDescriptor.TYPE_STRING), _text),
)


def misfit(field: FieldDescriptor, kind: pa.DataType, name: str) -> MisfitError:
    """The error that a column does not go with its field."""
    label = "repeated " if field.is_repeated and not is_map(field) else ""
    what = "a map" if is_map(field) else f"{label}{type_name(field)}"
    return MisfitError(f"{name} is {kind}, and its field (number {field.number}) is {what}")


def type_name(field: FieldDescriptor) -> str:
    """A field's type, as a .proto text has it."""
    if field.message_type is not None:
        return str(field.message_type.full_name)
    if field.enum_type is not None:
        return str(field.enum_type.full_name)
    return _NAMES[field.type]


_NAMES = {
    value: name.removeprefix("TYPE_").lower()
    for name, value in vars(FieldDescriptor).items()
    if name.startswith("TYPE_") and isinstance(value, int)
}
