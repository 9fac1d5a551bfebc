"""Files of Parquet, whole and broken, by the reader that Spark asks."""

import io
import json
import tracemalloc
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest

from lake_assets.sources.files import parquet_json, parquet_rows
from lake_assets.sources.files.index import entry_of
from lake_assets_tests.sources.files.folders import Folder, batches, read, told

ENDS = b"PAR1"


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def feed_of(folder, **declared):
    return folder.feed(format="parquet", **declared)


def content(table, **options):
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def rows_of(folder, content, name="a.parquet"):
    """Row, position, value and problem of a file's rows."""
    feed = feed_of(folder)
    (folder.path / name).write_bytes(content)
    rows = told(read(folder.reader(feed)), "_row", "_position", "value", "_problem")
    return [
        (row, place, value and json.loads(value), problem) for row, place, value, problem in rows
    ]


def bad(folder, content, name="a.parquet"):
    """What is wrong with a file of which nothing is read."""
    ((row, place, value, problem),) = rows_of(folder, content, name)
    assert (row, place, value) == (1, None, None)
    assert len(problem) < 500
    return problem


NUMBERS = pa.table({"n": range(10)})


def test_rows_are_json_objects_with_exact_values(folder):
    at = datetime(2026, 11, 26, 8, tzinfo=UTC)
    rows = [
        {"id": 2**62, "price": Decimal("9.90"), "at": at, "tags": [("a", 1)], "in": {"x": None}},
        {"id": None, "price": None, "at": None, "tags": None, "in": None},
    ]
    schema = pa.schema(
        {
            "id": pa.int64(),
            "price": pa.decimal128(10, 2),
            "at": pa.timestamp("ns", "UTC"),
            "tags": pa.map_(pa.string(), pa.int64()),
            "in": pa.struct([("x", pa.int32())]),
        }
    )
    found = rows_of(folder, content(pa.Table.from_pylist(rows, schema)))
    first = {
        "id": 2**62,
        "price": "9.90",
        "at": "2026-11-26T08:00:00.000000+00:00",
        "tags": {"a": 1},
        "in": {"x": None},
    }
    assert found == [(1, None, first, None), (2, None, {}, None)]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_pages_of_each_codec_are_read(folder, codec):
    found = rows_of(folder, content(NUMBERS, compression=codec), f"part-0.{codec}.parquet")
    assert [row[2] for row in found] == [{"n": n} for n in range(10)]


def test_files_of_other_columns_are_read_beside_one_another(folder):
    feed = feed_of(folder)
    for name, table in [("a", {"n": [1]}), ("b", {"N": ["x"], "n": [None]}), ("c", {})]:
        (folder.path / name).write_bytes(content(pa.table(table)))
    (folder.path / "d").write_bytes(content(NUMBERS.slice(0, 0)))
    (folder.path / "e").write_bytes(b"")
    rows = told(read(folder.reader(feed)), "_file", "value", "_problem")
    assert rows == [("a", b'{"n":1}', None), ("b", b'{"N":"x"}', None)]
    assert {entry_of(folder.lake, "beats", name).lines for name in "cde"} == {0}


def footer_of(rows, of_group):
    """A file whose footer says that it has so many rows in all, and in its row group."""
    whole = content(pa.table({"n": [1, 2, 3]}))
    begin = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    # In Thrift's compact protocol 3 is 6, and the byte after it tells of the next field.
    footer = whole[begin:-8].replace(b"\x16\x06\x19", b"\x16" + rows + b"\x19")
    footer = footer.replace(b"\x16\x06\x26", b"\x16" + of_group + b"\x26")
    return whole[:begin] + footer + len(footer).to_bytes(4, "little") + ENDS


def encrypted(*, has_plain_footer=False):
    keys = pe.EncryptionConfiguration(
        footer_key="f", column_keys={"f": ["n"]}, plaintext_footer=has_plain_footer
    )
    factory = pe.CryptoFactory(lambda _: _Keys())
    out = io.BytesIO()
    told = factory.file_encryption_properties(pe.KmsConnectionConfig(), keys)
    with pq.ParquetWriter(out, NUMBERS.schema, encryption_properties=told) as writer:
        writer.write_table(NUMBERS)
    return out.getvalue()


class _Keys(pe.KmsClient):  # type: ignore[misc]
    def wrap_key(self, key, name):
        return key if name else None


def twice(names, columns):
    return content(pa.Table.from_arrays(columns, names=names))


INNER = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
WHOLE = content(NUMBERS)


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        (b"hello, this is text", "has no footer of Parquet"),
        (b"PAR1", "has no footer of Parquet"),
        (WHOLE[:-1], "has no footer of Parquet"),
        (WHOLE[: len(WHOLE) // 2], "has no footer of Parquet"),
        (WHOLE[:-8] + b"\xff\xff\xff\x7f" + ENDS, "has no footer of Parquet"),
        (WHOLE[:-40] + b"\xff" * 32 + WHOLE[-8:], "has no footer of Parquet"),
        (WHOLE[:-8] + b"\0\0\0\0" + ENDS, "has no footer of Parquet"),
        (encrypted(), "has no footer of Parquet"),
        (twice(["a", "a"], [pa.array([1]), pa.array([2])]), "two columns that are called 'a'"),
        (twice(["a"], [INNER]), "two columns that are called 'a.x'"),
        (twice(["a"], [pa.array([[INNER[0]]], pa.list_(INNER.type))]), "called 'a.x'"),
        (footer_of(b"\x08", b"\x06"), "says that it has 4 rows, and that its row groups have 3"),
        (footer_of(b"\x05", b"\x05"), "says that it has -3 rows"),
        (footer_of(b"\xfe" + b"\xff" * 8 + b"\x01", b"\x06"), "4,294,967,296 are the most"),
    ],
)
def test_a_file_of_which_nothing_can_be_read_is_one_bad_row(folder, given, fact):
    assert fact in bad(folder, given)


def test_a_file_that_is_compressed_as_a_whole_is_told(folder):
    assert "is compressed by gzip as a whole" in bad(folder, WHOLE, "a.parquet.gz")


def test_columns_that_are_encrypted_are_told_and_take_the_row_group_with_them(folder):
    ((row, _, value, problem),) = rows_of(folder, encrypted(has_plain_footer=True))
    assert (row, value) == (1, None)
    assert "row group 1 cannot be read" in problem


def test_a_row_group_that_is_damaged_is_one_bad_row_and_the_next_one_is_read(folder):
    whole = bytearray(
        content(
            pa.table({"n": range(9)}),
            row_group_size=3,
            compression="none",
            use_dictionary=False,
            write_page_checksum=True,
        )
    )
    at = whole.index((4).to_bytes(8, "little"))
    whole[at] = 77
    found = rows_of(folder, bytes(whole))
    assert [(row, value) for row, _, value, _ in found] == [
        *((n + 1, {"n": n}) for n in range(3)),
        (4, None),
        *((n + 1, {"n": n}) for n in range(6, 9)),
    ]
    assert "row group 2 cannot be read" in found[3][3]


def test_a_row_that_json_has_not_takes_no_other_with_it(folder):
    days = pa.array([0, 4_000_000, 1, -800_000, 2], pa.int32()).cast(pa.date32())
    tags = pa.array([[], [], [("a", 1), ("a", 2)], [], []], pa.map_(pa.string(), pa.int64()))
    found = rows_of(folder, content(pa.table({"n": range(5), "day": days, "tags": tags})))
    assert [(row, value and value["n"]) for row, _, value, _ in found] == [
        (1, 0),
        (2, None),
        (3, None),
        (4, None),
        (5, 4),
    ]
    assert "the row cannot be read" in found[1][3]
    assert "duplicate key" in found[2][3]


def test_a_file_that_grew_is_read_as_it_was(folder):
    feed = feed_of(folder)
    path = folder.path / "a.parquet"
    path.write_bytes(WHOLE)
    reader = folder.reader(feed)
    at = reader.initialOffset()
    end = reader.latestOffset(at, None)
    path.write_bytes(WHOLE + b"more")
    rows = [batch for part in reader.partitions(at, end) for batch in reader.read(part)]
    reader.stop()
    assert pa.Table.from_batches(rows)["_problem"].null_count == 10


def test_batches_end_within_a_large_row_group(folder, monkeypatch):
    monkeypatch.setattr(parquet_rows, "MARK_ROWS", 100)
    feed = feed_of(folder)
    whole = content(pa.table({"n": range(2_000)}), row_group_size=1_500)
    (folder.path / "a.parquet").write_bytes(whole)
    found = list(batches(folder.reader(feed, max_rows=450)))
    assert [rows.num_rows for rows in found] == [400] * 5
    values = [json.loads(value)["n"] for rows in found for value in rows["value"].to_pylist()]
    assert values == [*range(2_000)]


def test_a_row_group_is_never_in_memory_as_a_whole(folder, monkeypatch):
    """Neither as it is stored, nor as it comes out of a dictionary."""
    monkeypatch.setattr(parquet_json, "_BYTES", 1_000_000)
    monkeypatch.setattr(parquet_json, "_ROWS", 64)
    feed = feed_of(folder)
    texts = [f"{n:0100000}" for n in range(5)]
    table = pa.table({"text": pa.array(texts * 100), "n": range(500)})  # 50 MB, stored in 0.5 MB
    (folder.path / "a.parquet").write_bytes(content(table, compression="none"))
    del table
    reader = folder.reader(feed)
    at = reader.initialOffset()
    end = reader.latestOffset(at, None)
    before, most, count = pa.total_allocated_bytes(), 0, 0
    tracemalloc.start()
    for part in reader.partitions(at, end):
        for rows in reader.read(part):
            count += rows.num_rows
            most = max(most, pa.total_allocated_bytes() - before)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    reader.stop()
    assert count == 500
    assert most < 20_000_000
