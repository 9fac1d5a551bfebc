"""The contracts of silver and quarantine: which columns they have beside the decoded ones."""

import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.delta.table_layout import without_made
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import SCHEMA_ID, OriginColumns
from lake_assets.model.tombstones import ROW_KEY, tombstone_columns


def silver_origin(origin: OriginColumns) -> pa.Schema:
    """Silver's columns that say where a row came from, and which schema its value names."""
    return origin_schema(origin.in_silver).append(pa.field(f"_{SCHEMA_ID}", pa.int64()))


def bronze_names(origin: OriginColumns) -> tuple[str, ...]:
    """Bronze's columns that become `silver_origin`, in the same order."""
    return (*origin.names, SCHEMA_ID)


def demux_names(feed: Feed) -> tuple[str, ...]:
    """Bronze's columns that demux reads: of feeds that take tombstones, the row's key is one."""
    key = [ROW_KEY] if tombstone_columns(feed.gold) else []
    return ("value", *key, *bronze_names(feed.source.origin))


VALUE = "#value"
"""binary: the raw value of a refused row, null of others (they need not travel)."""

REASON = "#reason"
"""string: a `model.quarantine.Reason`, null for rows that go to silver."""

DETAIL = "#detail"
"""string: what the reason means for this row."""

REFUSED_AT = "#refused_at"
"""timestamp: when the batch ran."""


def quarantine_schema(origin: OriginColumns) -> pa.Schema:
    """Columns of `quarantine_{feed}`."""
    return pa.schema(
        [
            pa.field("value", pa.binary()),
            *origin_schema(origin),
            pa.field(SCHEMA_ID, pa.int64()),
            pa.field("reason", pa.string()),
            pa.field("detail", pa.string()),
            pa.field("quarantined_at", pa.timestamp("us", tz="UTC")),
        ]
    )


def quarantine_sources(origin: OriginColumns) -> tuple[str, ...]:
    """Columns of the decoded rows that become `quarantine_schema`, in the same order."""
    return (VALUE, *silver_origin(origin).names, REASON, DETAIL, REFUSED_AT)


def decoded_part(silver: pa.Schema, origin: OriginColumns) -> pa.Schema:
    """What of a silver table's columns was decoded."""
    own = silver_origin(origin).names
    return pa.schema([field for field in without_made(silver) if field.name not in own])


def silver_schema(decoded: pa.Schema, origin: OriginColumns) -> pa.Schema:
    """The decoded columns, then where the row came from."""
    return pa.schema([*decoded, *silver_origin(origin)])
