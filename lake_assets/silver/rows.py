"""The contracts of silver and quarantine: which columns they have beside the decoded ones."""

import pyarrow as pa

_ORIGIN = (
    ("_topic", pa.string()),
    ("_partition", pa.int32()),
    ("_offset", pa.int64()),
    ("_kafka_timestamp", pa.timestamp("us", tz="UTC")),
    ("_schema_id", pa.int64()),
)

ORIGIN = pa.schema([pa.field(name, kind) for name, kind in _ORIGIN])
"""Where a silver row came from."""

BRONZE_NAMES = ("topic", "partition", "offset", "kafka_timestamp", "schema_id")
"""Bronze's columns that become `ORIGIN`, in the same order."""

VALUE = "#value"
"""binary: the raw value of a refused row, null of others (they need not travel)."""

REASON = "#reason"
"""string: a `model.quarantine.Reason`, null for rows that go to silver."""

DETAIL = "#detail"
"""string: what the reason means for this row."""

REFUSED_AT = "#refused_at"
"""timestamp: when the batch ran."""

QUARANTINE = pa.schema(
    [
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("kafka_timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("schema_id", pa.int64()),
        pa.field("reason", pa.string()),
        pa.field("detail", pa.string()),
        pa.field("quarantined_at", pa.timestamp("us", tz="UTC")),
    ]
)
"""Columns of `quarantine_{feed}`."""

QUARANTINE_SOURCES = (VALUE, *ORIGIN.names, REASON, DETAIL, REFUSED_AT)
"""Columns of the decoded rows that become `QUARANTINE`, in the same order."""


def decoded_part(silver: pa.Schema) -> pa.Schema:
    """What of a silver table's columns was decoded."""
    return pa.schema([field for field in silver if field.name not in ORIGIN.names])


def silver_schema(decoded: pa.Schema) -> pa.Schema:
    """The decoded columns, then where the row came from."""
    return pa.schema([*decoded, *ORIGIN])
