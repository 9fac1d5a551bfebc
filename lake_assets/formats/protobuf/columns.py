"""Which columns a message becomes: protobuf's names, types that Spark and Delta have."""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from lake_assets.formats.confluent.version_columns import columns_of
from lake_assets.formats.protobuf.messages import DROPPED

MICROSECONDS: Mapping[str, str] = {"comment": "microseconds"}
"""Metadata of a column that was a `Duration`."""


def columns(message: str, raw: pa.Schema) -> pa.Schema:
    """Columns of the decoded rows, all nullable, in the message's order.

    Unsigned integers widen (`uint32` to `int64`, `uint64` to `decimal128(20, 0)`) and a `Duration`
    becomes an `int64` of microseconds, at any depth: neither Spark nor Delta has these types. For
    the same reason a message without fields has no column.

    Args:
        message: full name, for the error.
        raw: what the decoder gives.

    Raises:
        SchemaUnusableError: no column is left, or a name is one of silver's own.
    """
    thing = f"message {message}"
    return columns_of(thing, _storable(raw))


def _storable(fields: Iterable[pa.Field]) -> list[pa.Field]:
    """The fields that can be stored, with the types they are stored as."""
    stored = (_field(field) for field in fields if not field.name.startswith(DROPPED))
    return [field for field in stored if field is not None]


def _field(field: pa.Field) -> pa.Field | None:
    kind = _type(field.type)
    if kind is None:
        return None
    comment = MICROSECONDS if pa.types.is_duration(_innermost(field.type)) else None
    return pa.field(field.name, kind, nullable=True, metadata=comment)


def _innermost(kind: pa.DataType) -> pa.DataType:
    return _innermost(kind.value_type) if pa.types.is_list(kind) else kind


def _type(kind: pa.DataType) -> pa.DataType | None:
    if pa.types.is_struct(kind):
        fields = _storable(kind)
        return pa.struct(fields) if fields else None
    if pa.types.is_list(kind):
        item = _field(kind.value_field)
        return pa.list_(item) if item is not None else None
    if pa.types.is_map(kind):
        value = _field(kind.item_field)
        return pa.map_(_scalar(kind.key_type), value) if value is not None else None
    return _scalar(kind)


def _scalar(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_uint64(kind):
        return pa.decimal128(20, 0)
    if pa.types.is_uint32(kind) or pa.types.is_duration(kind):
        return pa.int64()
    return kind
