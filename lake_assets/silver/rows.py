"""The contracts of silver and quarantine: which columns they have beside the decoded ones."""

import pyarrow as pa

from lake_assets.delta.origins import origin_schema
from lake_assets.delta.table_layout import without_made
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import FEED, PROBLEM, SCHEMA_ID, OriginColumns
from lake_assets.model.sources import ORIGIN_NAMES
from lake_assets.model.tombstones import ROW_KEY, tombstone_columns
from lake_assets.sources.kafka import headers


def silver_origin(origin: OriginColumns) -> pa.Schema:
    """Silver's columns that say where a row came from, and which schema its value names.

    In tables that several feeds fill, also which of them it is of.
    """
    is_named = origin.whose is not None and origin.whose.is_named
    return pa.schema([*_of_source(origin), *([pa.field(FEED, pa.string())] if is_named else [])])


def _of_source(origin: OriginColumns) -> pa.Schema:
    return origin_schema(origin.in_silver).append(pa.field(f"_{SCHEMA_ID}", pa.int64()))


def bronze_names(origin: OriginColumns) -> tuple[str, ...]:
    """Bronze's columns that say where a row came from, and which schema its value names."""
    return (*origin.names, SCHEMA_ID)


def as_in_silver(batch: pa.RecordBatch, origin: OriginColumns) -> list[pa.Array]:
    """What bronze's rows have in `silver_origin`'s columns, in their order."""
    made = []
    for field, name in zip(_of_source(origin), columns_in_bronze(origin).values(), strict=True):
        if name is None:  # a source without partitions is one, and one may not tell its time
            missing = None if field.name == origin.in_silver.time else 0
            made.append(pa.repeat(pa.scalar(missing, field.type), batch.num_rows))
        else:
            made.append(batch[name])
    return [*made, *_named_feed(origin, batch.num_rows)]


def columns_in_bronze(origin: OriginColumns) -> dict[str, str | None]:
    """By column of silver that says where a row came from, in their order, that of bronze.

    None where there is none. Which feed a row is of, bronze has no column of.
    """
    silver, parts = origin.in_silver, ("name", "partition", "offset", "time")
    own = {getattr(silver, part): getattr(origin, part) for part in parts}
    named = {name: bronze for name, bronze in own.items() if name}
    return {**named, **{name: name for name in origin.further}, f"_{SCHEMA_ID}": SCHEMA_ID}


def _named_feed(origin: OriginColumns, rows: int) -> list[pa.Array]:
    """What rows have in `silver_origin`'s columns beyond those of bronze."""
    whose = origin.whose
    return [pa.repeat(whose.feed, rows)] if whose is not None and whose.is_named else []


def read_names(feed: Feed) -> tuple[str, ...]:
    """Columns of bronze that quarantine keeps: rows are demuxed from both."""
    own = (HEADERS,) if feed.keeps_headers else ()
    return ("value", *bronze_names(feed.source.origin), *own)


def demux_names(feed: Feed) -> tuple[str, ...]:
    """Bronze's columns that demux reads.

    The row's key is one of feeds that take tombstones, and why it has no value, of sources that
    tell.
    """
    keys = [ROW_KEY] if tombstone_columns(feed.gold) else []
    problem = [PROBLEM] if feed.source.is_indexed else []
    return (*read_names(feed), *keys, *problem)


HEADERS = "headers"
"""Column of bronze, and of quarantine where rows are routed by a header; `headers.TYPE`."""


def headers_in(rows: pa.RecordBatch) -> pa.Array:
    """The headers of bronze's rows, or of those that were read elsewhere; null where they are."""
    has = HEADERS in rows.schema.names
    return rows[HEADERS] if has else pa.nulls(rows.num_rows, headers.TYPE)


KEPT_HEADERS = "#headers"
"""The same of a refused row, null of others."""

ROW = "#row"
"""int: which row of a batch of bronze it is, where a row may go to several tables; such rows follow
each other."""

VALUE = "#value"
"""binary: the raw value of a refused row, null of others (they need not travel)."""

REASON = "#reason"
"""string: a `model.quarantine.Reason`, null for rows that go to silver."""

DETAIL = "#detail"
"""string: what the reason means for this row."""

REFUSED_AT = "#refused_at"
"""timestamp: when the batch ran."""


def quarantine_schema(origin: OriginColumns, *, keeps_headers: bool = False) -> pa.Schema:
    """Columns of `quarantine_{feed}`."""
    return pa.schema(
        [
            pa.field("value", pa.binary()),
            *origin_schema(origin),
            pa.field(SCHEMA_ID, pa.int64()),
            pa.field("reason", pa.string()),
            pa.field("detail", pa.string()),
            pa.field("quarantined_at", pa.timestamp("us", tz="UTC")),
            *([pa.field(HEADERS, headers.TYPE)] if keeps_headers else []),
        ]
    )


def quarantine_of_feed(feed: Feed) -> pa.Schema:
    """As `quarantine_schema`, of a feed's."""
    return quarantine_schema(feed.source.origin, keeps_headers=feed.keeps_headers)


def quarantine_sources(origin: OriginColumns, *, keeps_headers: bool = False) -> tuple[str, ...]:
    """Columns of the decoded rows that become `quarantine_schema`, in the same order."""
    own = (KEPT_HEADERS,) if keeps_headers else ()
    names = [name for name, bronze in columns_in_bronze(origin).items() if bronze]
    return (VALUE, *names, REASON, DETAIL, REFUSED_AT, *own)


def decoded_part(silver: pa.Schema, origin: OriginColumns) -> pa.Schema:
    """What of a silver table's columns was decoded."""
    # Also what other feeds have brought, whether or not they still fill it.
    own = {*silver_origin(origin).names, *ORIGIN_NAMES}
    return pa.schema([field for field in without_made(silver) if field.name not in own])


def silver_schema(decoded: pa.Schema, origin: OriginColumns) -> pa.Schema:
    """The decoded columns, then where the row came from."""
    return pa.schema([*decoded, *silver_origin(origin)])
