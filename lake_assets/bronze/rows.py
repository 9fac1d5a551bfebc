"""The bronze contract: Kafka's rows as they came, and where and when they came from.

Nothing in the payload is read but the schema id in its framing.
"""

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lake_assets.bronze import headers

PARTITION = "ingested_date"

SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", headers.TYPE),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("kafka_timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("ingested_at", pa.timestamp("us", tz="UTC")),
        pa.field("schema_id", pa.int64()),
        pa.field(PARTITION, pa.date32()),
    ]
)
"""Columns of `bronze_{feed}`; the last is its partition column and not in its files."""

FILE_SCHEMA = pa.schema([field for field in SCHEMA if field.name != PARTITION])


def bronze_rows(kafka: DataFrame, ingested_at: Column) -> DataFrame:
    """Select the bronze contract, without the partition column, from Spark's Kafka columns.

    The headers are on their way as text (`bronze.headers`).
    """
    return kafka.select(
        "key",
        "value",
        headers.to_text(F.col("headers")).alias("headers"),
        "topic",
        "partition",
        "offset",
        F.col("timestamp").alias("kafka_timestamp"),
        ingested_at.alias("ingested_at"),
        schema_id(F.col("value")).alias("schema_id"),
    )


def schema_id(value: Column) -> Column:
    """The id in Confluent's framing, else null: bigint.

    A zero byte, then four bytes, big-endian, unsigned:
    https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/
    """
    is_framed = F.startswith(value, F.unhex(F.lit("00"))) & (F.octet_length(value) >= F.lit(5))
    digits = F.hex(F.substring(value, 2, 4))
    return F.when(is_framed, F.conv(digits, 16, 10).cast("bigint"))
