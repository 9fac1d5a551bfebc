"""Types of computed columns, as silver's tables have them."""

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.types import StructField, StructType

from lake_assets.errors import FeedError
from lake_assets.spark.jvm import arrow_schema


def storable(column: StructField) -> pa.DataType:
    """The type of a computed column, as tables have it.

    Raises:
        FeedError: no table of ours can have it.
    """
    try:
        kind = _plain(arrow_schema(StructType([column])).field(0).type)
    except PySparkTypeError:
        kind = None  # Arrow has none
    if kind is None:
        fact = f"is {column.dataType.simpleString()}, which silver's tables cannot have"
        raise FeedError(f"column {column.name!r} of select", fact, "Cast it to another type")
    return kind


def _plain(kind: pa.DataType) -> pa.DataType | None:
    """The type as ours are made: items of lists are called so; None for a type we do not have."""
    if pa.types.is_struct(kind):
        fields = [(field.name, _plain(field.type)) for field in kind]
        return None if any(inner is None for _, inner in fields) else pa.struct(fields)
    if pa.types.is_list(kind):
        item = _plain(kind.value_type)
        return None if item is None else pa.list_(pa.field("item", item))
    if pa.types.is_map(kind):
        key, item = _plain(kind.key_type), _plain(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    is_wrong = (
        pa.types.is_null(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_interval(kind)
        or pa.types.is_time(kind)
        or (pa.types.is_timestamp(kind) and kind.tz is None)
    )
    return None if is_wrong else kind
