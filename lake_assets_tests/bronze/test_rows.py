from datetime import UTC, datetime

import pyarrow as pa
import pytest

from lake_assets.bronze.rows import PARTITION, Landing, file_schema
from lake_assets.formats.confluent.framing import schema_ids
from lake_assets.sources.kafka.source import KafkaTopic
from lake_assets_tests.columns import BRONZE

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


def test_the_partition_column_is_the_only_one_in_no_file():
    assert set(BRONZE.names) - set(file_schema(KafkaTopic.columns).names) == {PARTITION}


def test_what_is_the_same_for_all_rows_is_added_to_what_came():
    batch = pa.RecordBatch.from_pydict({"value": pa.array([b"\0\0\0\0\7x", None], pa.binary())})
    (landed,) = Landing(NOW)([batch])
    first, second = landed.to_pylist()
    assert first == {
        "value": b"\0\0\0\0\7x",
        "ingested_at": NOW,
        "schema_id": 7,
        "#table": 0,
    }
    assert second["schema_id"] is None


def test_values_without_framing_have_no_schema_id_whatever_they_begin_with():
    landing = Landing(NOW, ids=None)
    batch = pa.RecordBatch.from_arrays([pa.array([b"\0\0\0\0\7x", None])], names=["value"])
    (landed,) = landing([batch])
    assert landed["schema_id"].to_pylist() == [None, None]
    assert landed.schema.field("schema_id").type == pa.int64()
