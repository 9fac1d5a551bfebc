from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lake_assets.bronze.rows import (
    FILE_SCHEMA,
    PARTITION,
    SCHEMA,
    Landing,
    evaluated_columns,
    schema_ids,
)

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


@pytest.mark.parametrize("part", [slice(None), slice(3, 9), slice(0, 1), slice(5, 8), slice(0, 0)])
def test_schema_ids_are_read_where_there_is_framing(part):
    values = pa.array([value for value, _ in IDS], pa.binary())[part]
    assert schema_ids(values).to_pylist() == [found for _, found in IDS][part]


@pytest.mark.spark
def test_rows_are_kept_as_they_came(spark):
    kafka = spark.createDataFrame(
        [
            (b"k", b"\0\0\0\0\7x", "t", 1, 2**40, NOW, 0, [("h", b"v")]),
            (None, None, "t", 0, 0, NOW, 0, None),
        ],
        "key binary, value binary, topic string, partition int, offset bigint, "
        "timestamp timestamp, timestampType int, headers array<struct<key string, value binary>>",
    )
    batches = Landing(NOW)(evaluated_columns(kafka).toArrow().to_batches())
    first, second = pa.Table.from_batches(batches).to_pylist()
    assert first == {
        "key": b"k",
        "value": b"\0\0\0\0\7x",
        "headers": '[{"key":"h","value":"dg=="}]',
        "topic": "t",
        "partition": 1,
        "offset": 2**40,
        "kafka_timestamp": NOW,
        "ingested_at": NOW,
        "schema_id": 7,
        "#table": 0,
    }
    assert {name for name, value in second.items() if value is None} == {
        "key",
        "value",
        "headers",
        "schema_id",
    }


def test_the_partition_column_is_the_only_one_in_no_file():
    assert set(SCHEMA.names) - set(FILE_SCHEMA.names) == {PARTITION}


def test_values_without_framing_have_no_schema_id_whatever_they_begin_with():
    landing = Landing(NOW, is_framed=False)
    batch = pa.RecordBatch.from_arrays([pa.array([b"\0\0\0\0\7x", None])], names=["value"])
    (landed,) = landing([batch])
    assert landed["schema_id"].to_pylist() == [None, None]
    assert landed.schema.field("schema_id").type == pa.int64()
