"""Arrow's values and types as a database has them."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

from lake_assets.postgres.failures import UnfitValueError
from lake_assets.sinks.far_times import python_values
from lake_assets.sinks.json_values import values_of_column


def sql_rows(columns: Mapping[str, pa.Array]) -> list[dict[str, Any]]:
    """Columns as rows of Python's values; lists, maps and structs have JSON's within."""
    lists = {name: _values(column) for name, column in columns.items()}
    return [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]


def _values(column: pa.Array) -> list[Any]:
    if pa.types.is_nested(column.type):
        return values_of_column(column)
    return python_values(column)


def sql_type(kind: pa.DataType) -> TypeEngine[Any]:
    """The type of a column that is to hold an Arrow type's values."""
    if pa.types.is_nested(kind):
        # Null is no value of JSON's here, but none at all.
        return sa.JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")
    if pa.types.is_decimal(kind):
        return sa.Numeric(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return sa.DateTime(timezone=kind.tz is not None)
    for is_such, made in _TYPES:
        if is_such(kind):
            return made
    return sa.Text()


_TYPES: tuple[tuple[Any, TypeEngine[Any]], ...] = (
    (pa.types.is_boolean, sa.Boolean()),
    (pa.types.is_uint64, sa.Numeric(20, 0)),
    (pa.types.is_integer, sa.BigInteger()),
    (pa.types.is_floating, sa.Double()),
    (pa.types.is_date, sa.Date()),
    (pa.types.is_time, sa.Time()),
    (pa.types.is_duration, sa.Interval()),
    (pa.types.is_binary, sa.LargeBinary()),
    (pa.types.is_large_binary, sa.LargeBinary()),
    (pa.types.is_fixed_size_binary, sa.LargeBinary()),
)


def as_json(value: object) -> str:
    """A row's values as a text for people and columns of JSON; what JSON has not is a text."""
    return json.dumps(value, ensure_ascii=False, default=_text)


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


def fitting(value: Any, kind: TypeEngine[Any]) -> Any:  # noqa: ANN401 - of any type
    """A value as a column of that type takes it: a list or a map is JSON where it is a text.

    Raises:
        UnfitValueError: it takes none such.
    """
    if isinstance(value, (list, dict)) and isinstance(kind, sa.String):
        return as_json(value)
    if isinstance(value, str) and isinstance(kind, sa.ARRAY):
        raise UnfitValueError("a text is no array")  # it would become one of its characters
    return value
