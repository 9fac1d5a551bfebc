"""Values of Arrow as JSON has them in bronze, exact.

Decimals are text, times ISO 8601 text with microseconds, binary is Base64, a map is an object whose
names are its keys' text: what the payload `json` reads back by the types that a feed declares. A
column that is null is left out. NaN and infinities, which JSON has not, are text.
"""

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

_Retype: TypeAlias = Callable[[pa.DataType], pa.DataType]

_PLAIN_TYPES: Sequence[tuple[_Retype, _Retype]] = (
    (
        pa.types.is_timestamp,
        lambda kind: pa.timestamp("us" if kind.unit == "ns" else kind.unit, tz=kind.tz and "UTC"),
    ),
    (pa.types.is_time64, lambda _: pa.time64("us")),
    (pa.types.is_duration, lambda _: pa.int64()),  # as Parquet has it: the unit is Arrow's
    (pa.types.is_dictionary, lambda kind: plain_type(kind.value_type)),
    (
        pa.types.is_struct,
        lambda kind: pa.struct([field.with_type(plain_type(field.type)) for field in kind]),
    ),
    (
        pa.types.is_map,
        lambda kind: pa.map_(plain_type(kind.key_type), plain_type(kind.item_type)),
    ),
    (
        pa.types.is_fixed_size_list,
        lambda kind: pa.list_(plain_type(kind.value_type), kind.list_size),
    ),
    (pa.types.is_large_list, lambda kind: pa.large_list(plain_type(kind.value_type))),
    (pa.types.is_list, lambda kind: pa.list_(plain_type(kind.value_type))),
)
"""Which types are read as others."""


def plain_type(kind: pa.DataType) -> pa.DataType:
    """A type whose values Python has, for one of Arrow's: microseconds in place of nanoseconds."""
    return next((made(kind) for is_such, made in _PLAIN_TYPES if is_such(kind)), kind)


def objects(rows: pa.RecordBatch) -> list[dict[str, Any]]:
    """Rows of types that `plain_type` made as objects of JSON, without what is null.

    Raises:
        ValueError: Python has not all values of them; ArrowException, KeyError, OverflowError,
            RecursionError and TypeError likewise.
    """
    columns = [_values(column) for column in rows.columns]
    names = rows.schema.names
    if not any(column.null_count for column in rows.columns):
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    return [
        {name: value for name, value in zip(names, row, strict=True) if value is not None}
        for row in zip(*columns, strict=True)
    ]


def _values(column: pa.Array) -> list[Any]:
    """A column's values as JSON has them, by Arrow where it is exact."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        text = _times(column)
        if text is not None:
            return list(text.to_pylist())
    values: list[Any] = column.to_pylist(maps_as_pydicts="strict")
    if _is_json(kind) or (pa.types.is_floating(kind) and _is_finite(column)):
        return values
    return [_plain(value) for value in values]


def _is_json(kind: pa.DataType) -> bool:
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(is_text or pa.types.is_integer(kind) or pa.types.is_boolean(kind))


def _is_finite(column: pa.Array) -> bool:
    return pc.all(pc.is_finite(column), skip_nulls=True, min_count=0).as_py() is True


_EARLIEST = datetime.min.replace(tzinfo=UTC)
_LATEST = datetime.max.replace(tzinfo=UTC)
"""What ISO 8601 has with four digits of the year, and Python at all."""


def _times(column: pa.Array) -> pa.Array | None:
    """Times as text, seven times faster than by Python; None if there are some that it has not."""
    zone = column.type.tz
    utc = column.cast(pa.timestamp(column.type.unit, "UTC"))
    bounds = pa.array([_EARLIEST, _LATEST], pa.timestamp("us", "UTC")).cast(utc.type, safe=False)
    is_inside = pc.and_(pc.greater_equal(utc, bounds[0]), pc.less_equal(utc, bounds[1]))
    if pc.all(is_inside, skip_nulls=True, min_count=0).as_py() is not True:
        return None
    text = utc.cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us")).cast(pa.string())
    text = pc.utf8_replace_slice(text, 10, 11, "T")
    return text if zone is None else pc.binary_join_element_wise(text, "+00:00", "")


def text_of(row: Mapping[str, Any]) -> bytes:
    """An object of `objects` as JSON."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A value as JSON has it."""
    made = _PLAIN.get(type(value))
    return value if made is None else made(value)


def _name(key: Any) -> str:  # noqa: ANN401
    """A map's key as JSON has it."""
    return str(key).lower() if isinstance(key, bool) else str(_plain(key))


def _in_microseconds(value: datetime | time) -> str:
    return value.isoformat(timespec="microseconds")


_PLAIN: dict[type, Callable[[Any], Any]] = {
    dict: lambda value: {_name(name): _plain(inner) for name, inner in value.items()},
    list: lambda value: [_plain(item) for item in value],
    float: lambda value: value if math.isfinite(value) else str(value),
    Decimal: lambda value: f"{value:f}",
    datetime: _in_microseconds,
    time: _in_microseconds,
    date: date.isoformat,
    bytes: lambda value: base64.b64encode(value).decode(),
    UUID: str,
}
"""By type, how a value becomes one that JSON has; others are such."""
