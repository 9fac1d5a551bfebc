"""Made-up rows of any columns that silver may have, on which a function is tried."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

_START = datetime(2026, 1, 1, 12, tzinfo=UTC)

_SCALARS: Mapping[pa.DataType, Callable[[int], Any]] = {
    pa.bool_(): lambda number: number % 2 == 1,
    pa.string(): str,  # text that may be read as a number, too
    pa.binary(): lambda number: str(number).encode(),
    pa.date32(): lambda number: date(2026, 1, number),
    pa.float32(): float,
    pa.float64(): float,
}


def sample_rows(columns: pa.Schema) -> pa.RecordBatch:
    """Three rows without a null, of small and different values: 1, 2 and 3 in a column of numbers.

    Args:
        columns: of any types that silver has.
    """
    arrays = [pa.array([_value(one.type, row) for row in (1, 2, 3)], one.type) for one in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def null_rows(columns: pa.Schema) -> pa.RecordBatch:
    """Two rows that have nothing but nulls."""
    return pa.RecordBatch.from_arrays([pa.nulls(2, one.type) for one in columns], schema=columns)


def _value(kind: pa.DataType, number: int) -> Any:  # noqa: ANN401 - of any type
    if kind in _SCALARS:
        return _SCALARS[kind](number)
    if pa.types.is_nested(kind):
        return _nested_value(kind, number)
    if pa.types.is_timestamp(kind):
        return _START + timedelta(days=number)
    if pa.types.is_decimal(kind):
        return Decimal(number).scaleb(-kind.scale)
    return number


def _nested_value(kind: pa.DataType, number: int) -> Any:  # noqa: ANN401 - of any type
    if pa.types.is_struct(kind):
        return {field.name: _value(field.type, number) for field in kind}
    if pa.types.is_map(kind):
        return [(_value(kind.key_type, number), _value(kind.item_type, number))]
    return [_value(kind.value_type, number)] * number
