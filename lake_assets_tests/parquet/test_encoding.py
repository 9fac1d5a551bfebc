from datetime import UTC, date, datetime
from decimal import Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake_assets.parquet.encoding import encodings

AT = datetime(2026, 11, 21, 10, tzinfo=UTC)

ROW = {
    "name": "ann",
    "raw": b"\x00\xff",
    "level": 7,
    "offset": 12345678901,
    "at": AT,
    "day": date(2026, 11, 21),
    "share": 0.5,
    "money": Decimal("12.50"),
    "big": Decimal(18446744073709551615),
    "is_new": True,
    "place": {"x": 1, "at": AT, "names": ["a", "b"]},
    "times": [AT, AT],
    "counts": [("a", 1)],
    "a.b": "dot",
}

SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("raw", pa.binary()),
        ("level", pa.int32()),
        ("offset", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("share", pa.float64()),
        ("money", pa.decimal128(10, 2)),
        ("big", pa.decimal128(20, 0)),
        ("is_new", pa.bool_()),
        (
            "place",
            pa.struct(
                [
                    ("x", pa.int32()),
                    ("at", pa.timestamp("us", tz="UTC")),
                    ("names", pa.list_(pa.string())),
                ]
            ),
        ),
        ("times", pa.list_(pa.timestamp("us", tz="UTC"))),
        ("counts", pa.map_(pa.string(), pa.int64())),
        ("a.b", pa.string()),
    ]
)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "rows.parquet"
    rows = pa.Table.from_pylist([ROW, dict.fromkeys(ROW), ROW], schema=SCHEMA)
    with pq.ParquetWriter(path, SCHEMA, **encodings(SCHEMA)) as writer:
        writer.write_table(rows)
    return path


def encodings_of(path):
    group = pq.read_metadata(path).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    return {column.path_in_schema: set(column.encodings) for column in columns}


def test_text_and_short_numbers_have_a_dictionary_and_long_ones_and_times_differences(path):
    found = encodings_of(path)
    with_dictionary = {name for name, used in found.items() if "RLE_DICTIONARY" in used}
    with_differences = {name for name, used in found.items() if "DELTA_BINARY_PACKED" in used}
    assert with_dictionary == {
        "name",
        "level",
        "day",
        "place.x",
        "place.names.list.element",
        "counts.key_value.key",
        "a.b",
    }
    assert with_differences == {
        "offset",
        "at",
        "place.at",
        "times.list.element",
        "counts.key_value.value",
    }


def test_what_was_written_is_read_by_arrow_and_duckdb(path):
    assert pq.read_table(path).cast(SCHEMA).to_pylist()[0] == ROW
    found = duckdb.read_parquet(str(path)).project('name, "offset", epoch_us("at")').fetchall()
    assert found[0] == ("ann", ROW["offset"], int(AT.timestamp() * 1_000_000))


@pytest.mark.spark
def test_what_was_written_is_read_by_spark(spark, path):
    first, nothing, _ = spark.read.parquet(str(path)).collect()
    assert (first["offset"], first["place"]["names"], first["counts"]) == (
        ROW["offset"],
        ["a", "b"],
        {"a": 1},
    )
    assert nothing["at"] is None
