"""Arrow's values as Python's, also times and dates that Python's calendar has not. Pure.

Producers that give microseconds for milliseconds make years of five digits: those are texts here,
as ISO 8601 writes them but for the sign. What becomes of values then, each kind of sink knows.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

_CYCLE = timedelta(days=146_097)
"""400 years, after which the calendar is the same."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}


def python_values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """A column's values, as `to_pylist` gives them, or texts of times that are too far away."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        kind = column.type
        return [_value(value, kind) for value in column.cast(_counted(kind)).to_pylist()]
    return values


def _counted(kind: pa.DataType) -> pa.DataType:
    """A type with numbers in the place of times."""
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_date32(kind):
        return pa.int32()
    if pa.types.is_map(kind):
        return pa.map_(_counted(kind.key_type), _counted(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(one.name, _counted(one.type)) for one in kind])
    return pa.list_(_counted(kind.value_type)) if pa.types.is_list(kind) else kind


def _value(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401, PLR0911 - of any type
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        return _time(value * _MICROS[kind.unit], is_zoned=kind.tz is not None)
    if pa.types.is_date32(kind):
        found = _time(value * 86_400_000_000, is_zoned=False)
        return found.date() if isinstance(found, datetime) else found.partition("T")[0]
    if pa.types.is_map(kind):
        return [(_value(k, kind.key_type), _value(v, kind.item_type)) for k, v in value]
    if isinstance(value, Mapping):
        return {name: _value(inner, kind.field(name).type) for name, inner in value.items()}
    if isinstance(value, list):
        return [_value(inner, kind.value_type) for inner in value]
    return value


def _time(micros: int, *, is_zoned: bool) -> datetime | str:
    cycles, rest = divmod(micros, _CYCLE // timedelta(microseconds=1))
    at = _EPOCH + timedelta(microseconds=rest)
    year = at.year + 400 * cycles
    if date.min.year <= year <= date.max.year:
        return at.replace(year=year, tzinfo=UTC if is_zoned else None)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{at:%m-%dT%H:%M:%S.%f}" + ("Z" if is_zoned else "")
