"""The contract of the table of duplicates: which rows were left out, and of which each is one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.model.origins import Origin, OriginColumns, Place
from lake_assets.silver.keyed_rows import KeyedRows

FIRST = "first_"
"""How the columns begin that name the row that stayed."""

_INSTANT = pa.timestamp("us", tz="UTC")


def duplicates_schema(origin: OriginColumns) -> pa.Schema:
    """Columns of `bronze_{feed}_duplicates`."""
    identity = [field for field in origin_schema(origin) if field.name in origin.identity]
    return pa.schema(
        [
            *origin_schema(origin),
            pa.field("key", pa.string()),
            *(field.with_name(FIRST + field.name) for field in identity),
            pa.field("dropped_at", _INSTANT),
        ]
    )


def duplicate_rows(
    rows: pa.Table, first: KeyedRows, places: Sequence[Place], key: str, origin: OriginColumns
) -> pa.Table:
    """Rows of silver that are duplicates, as their table has them.

    Args:
        rows: with silver's columns of their origin.
        first: for each, the row that stays.
        places: by number, a source and its partition.
        key: of the feed, whose rows they are.
        origin: the feed's columns that say where a row came from.
    """
    count, silver = rows.num_rows, origin.in_silver
    found = [places[number] for number in first.place.tolist()]
    columns: dict[str, object] = {
        name: rows[own] for name, own in zip(origin.names, silver.names, strict=True)
    }
    columns |= {
        "key": pa.repeat(pa.scalar(key), count),
        FIRST + origin.name: pa.array([name for name, _ in found], pa.string()),
        FIRST + origin.offset: pa.array(np.asarray(first.offset), pa.int64()),
        "dropped_at": pa.repeat(pa.scalar(datetime.now(UTC), _INSTANT), count),
    }
    if origin.partition is not None:
        columns[FIRST + origin.partition] = pa.array([part for _, part in found], pa.int32())
    schema = duplicates_schema(origin)
    return pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)


def first_of(row: Mapping[str, Any], origin: OriginColumns) -> Origin:
    """The row that stayed, by one of the table's rows."""
    partition = 0 if origin.partition is None else row[FIRST + origin.partition]
    return Origin(row[FIRST + origin.name], partition, row[FIRST + origin.offset])
