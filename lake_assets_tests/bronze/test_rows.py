from datetime import UTC, datetime

import pytest
from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from lake_assets.bronze.rows import FILE_SCHEMA, PARTITION, SCHEMA, bronze_rows, schema_id

pytestmark = pytest.mark.spark

NOW = datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=UTC)

IDS = [
    (b"\0\x00\x00\x00\x01\0abc", 1),
    (b"\0\x00\x01\x00\x02", 65538),
    (b"\0\x80\x00\x00\x00x", 2**31),
    (b"\0\xff\xff\xff\xff", 2**32 - 1),
    (b"\0\x00\x00\x00\x00", 0),
    (b"\0\x00\x00\x00", None),
    (b"\0", None),
    (b"", None),
    (b"\x01\x00\x00\x00\x01\0abc", None),
    (b'{"game": 1}', None),
    (None, None),
]


def test_schema_ids_are_read_where_there_is_framing(spark):
    values = spark.createDataFrame([(value,) for value, _ in IDS], "value binary")
    found = values.select("value", schema_id(F.col("value")).alias("id"))
    assertDataFrameEqual(found, spark.createDataFrame(IDS, "value binary, id bigint"))


def test_rows_are_kept_as_they_came(spark):
    kafka = spark.createDataFrame(
        [
            (b"k", b"\0\0\0\0\7x", "t", 1, 2**40, NOW, 0, [("h", b"v")]),
            (None, None, "t", 0, 0, NOW, 0, None),
        ],
        "key binary, value binary, topic string, partition int, offset bigint, "
        "timestamp timestamp, timestampType int, headers array<struct<key string, value binary>>",
    )
    found = bronze_rows(kafka, F.lit(NOW)).drop("kafka_timestamp", "ingested_at")
    assertDataFrameEqual(
        found,
        spark.createDataFrame(
            [
                (b"k", b"\0\0\0\0\7x", '[{"key":"h","value":"dg=="}]', "t", 1, 2**40, 7),
                (None, None, None, "t", 0, 0, None),
            ],
            "key binary, value binary, headers string, topic string, partition int, "
            "offset bigint, schema_id bigint",
        ),
    )


def test_the_partition_column_is_the_only_one_in_no_file():
    assert set(SCHEMA.names) - set(FILE_SCHEMA.names) == {PARTITION}
