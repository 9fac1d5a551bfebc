"""The contract of the table of duplicates: which rows were left out, and of which each is one."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import origin_of, tables_owner
from lake_assets.model.origins import IDENTITY_PARTS, Origin, OriginColumns, Place
from lake_assets.silver.file_keys import feed_and_name
from lake_assets.silver.keyed_rows import KeyedRows

FIRST = "first_"
"""How the columns begin that name the row that stayed."""

FIRST_FEED = FIRST + "feed"
"""string: whose that row is: tables that one feed fills may have rows of one that did so before."""

_INSTANT = pa.timestamp("us", tz="UTC")


def duplicates_schema(origin: OriginColumns) -> pa.Schema:
    """Columns of `bronze_{feed}_duplicates`.

    The row that stays may be another feed's, so it is named as the silver tables name theirs.
    """
    named = _named(origin)
    identity = [field for field in origin_schema(named) if field.name in named.identity]
    return pa.schema(
        [
            *origin_schema(origin),
            pa.field("key", pa.string()),
            *(field.with_name(FIRST + field.name) for field in identity),
            pa.field(FIRST_FEED, pa.string()),
            pa.field("dropped_at", _INSTANT),
        ]
    )


def _named(origin: OriginColumns) -> OriginColumns:
    return origin if origin.tables is None else origin.tables


def duplicate_rows(
    rows: pa.Table, first: KeyedRows, places: Sequence[Place], key: str, feed: Feed
) -> pa.Table:
    """Rows of silver that are duplicates, as their table has them.

    Args:
        rows: with silver's columns of their origin.
        first: for each, the row that stays.
        places: by number, a source and its partition.
        key: of the feed, whose rows they are.
        feed: whose rows they are.
    """
    origin, owner = origin_of(feed), tables_owner(feed)
    count, silver, named = rows.num_rows, origin.in_silver, _named(origin)
    found = [places[number] for number in first.place.tolist()]
    whose = [feed_and_name(name, owner) for name, _ in found]
    parts = [(getattr(origin, part), getattr(silver, part)) for part in (*IDENTITY_PARTS, "time")]
    columns: dict[str, object] = {name: rows[own] for name, own in parts if name}
    columns |= {name: rows[name] for name in origin.further}
    columns |= {
        "key": pa.repeat(pa.scalar(key), count),
        FIRST + named.name: pa.array([name for _, name in whose], pa.string()),
        FIRST + named.offset: pa.array(np.asarray(first.offset), pa.int64()),
        FIRST_FEED: pa.array([feed for feed, _ in whose], pa.string()),
        "dropped_at": pa.repeat(pa.scalar(datetime.now(UTC), _INSTANT), count),
    }
    if named.partition is not None:
        columns[FIRST + named.partition] = pa.array([part for _, part in found], pa.int32())
    schema = duplicates_schema(origin)
    return pa.table([columns[name] for name in schema.names], names=schema.names).cast(schema)


def first_names(origin: OriginColumns) -> list[str]:
    """Columns that name the row that stays; the last one is null of former releases' rows."""
    return [*(FIRST + name for name in _named(origin).identity), FIRST_FEED]


def first_of(row: Mapping[str, Any], origin: OriginColumns) -> Origin:
    """The row that stayed, by one of the table's rows."""
    named = _named(origin)
    partition = 0 if named.partition is None else row[FIRST + named.partition]
    return Origin(row[FIRST + named.name], partition, row[FIRST + named.offset])
