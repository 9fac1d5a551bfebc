"""Arrow's values as JSON's: what fields of a row are in a call's body. Pure."""

import math
from base64 import b64encode
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.sinks.far_times import python_values

_FAR_US = 10**18
"""Microseconds of 31,000 years."""


def json_rows(columns: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
    """Columns as rows of JSON's values."""
    lists = {name: values_of_column(column) for name, column in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def values_of_column(column: pa.Array) -> list[Any]:
    """A column's values: numbers, texts, booleans, arrays and objects, and null.

    Instants are `2026-11-25T21:28:23.000000Z`, dates `2026-11-25`, decimals texts (a number of
    JSON has no exact fraction), bytes base64; what is no number (NaN, infinity) is null.
    """
    kind = column.type
    is_told = pa.types.is_timestamp(kind) and _is_near(column)
    if is_told:
        column = pc.strftime(column, format="%Y-%m-%dT%H:%M:%S" + ("Z" if kind.tz else ""))
    values = python_values(column)
    plain = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
    return values if plain or is_told else [_value(v, kind) for v in values]


def _is_near(times: pa.Array) -> bool:
    """Whether Arrow writes times as they are: it takes years of more than 16 bits for others."""
    within = pc.min_max(times.cast(pa.timestamp("us")).cast(pa.int64())).as_py()
    return within["max"] is None or max(-within["min"], within["max"]) < _FAR_US


def _value(value: Any, kind: pa.DataType) -> Any:  # noqa: ANN401 - of any type
    if value is None:
        return None
    if pa.types.is_map(kind):
        return {_name(k, kind.key_type): _value(v, kind.item_type) for k, v in value}
    if isinstance(value, Mapping):
        return {name: _value(inner, kind.field(name).type) for name, inner in value.items()}
    if isinstance(value, list):
        return [_value(inner, kind.value_type) for inner in value]
    return _scalar(value)


def _name(key: Any, kind: pa.DataType) -> str:  # noqa: ANN401 - of any type
    found = _value(key, kind)
    if isinstance(found, bool):
        return "true" if found else "false"
    return str(found)


def _scalar(value: Any) -> Any:  # noqa: ANN401 - of any type
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, datetime):
        text = value.isoformat(timespec="microseconds")
        return text.removesuffix("+00:00") + ("Z" if value.tzinfo else "")
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return str(value) if isinstance(value, (Decimal, UUID)) else value
