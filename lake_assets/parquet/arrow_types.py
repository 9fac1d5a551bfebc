"""Arrow's types: of columns that are declared by SQL's names, and of texts and bytes. Pure.

Other writers note in a Parquet file that its columns were views (`string_view`), and Arrow gives
them back as such, for which it has few functions.
"""

from collections.abc import Mapping
from typing import TypeVar

import pyarrow as pa

_Rows = TypeVar("_Rows", pa.RecordBatch, pa.Table)

SCALARS: Mapping[str, pa.DataType] = {
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
"""By the names that columns are declared with, `model.ddl.SCALARS`."""

_PLAIN = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def without_views(rows: _Rows) -> _Rows:
    """The same rows with plain strings and bytes in place of views, at any depth."""
    schema = pa.schema([field.with_type(_plain(field.type)) for field in rows.schema])
    return rows if schema == rows.schema else rows.cast(schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_plain(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_plain(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_plain(kind.key_type), _plain(kind.item_type))
    return _PLAIN.get(kind, kind)
