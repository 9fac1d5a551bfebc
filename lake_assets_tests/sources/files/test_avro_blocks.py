"""Containers of Avro, whole and broken, by the reader that Spark asks."""

import gzip
import io
import tracemalloc

import fastavro
import pytest

from lake_assets.model.payload import AvroPayload, Payload
from lake_assets.sources.files import avro_blocks, avro_codecs, avro_container
from lake_assets.sources.files.avro_container import fingerprint_of, read_header
from lake_assets.sources.files.index import entry_of
from lake_assets_tests.sources.files.containers import (
    BEAT,
    COMPRESS,
    beats,
    block,
    datum,
    deflated,
    header,
    varint,
)
from lake_assets_tests.sources.files.folders import Folder, batches, read, told

NEGATIVE = {"type": "fixed", "name": "F", "size": -4}

AVRO = Payload(avro=AvroPayload())


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def feed_of(folder, **declared):
    return folder.feed(AVRO, format="avro", **declared)


def rows_of(folder, content, name="a.avro"):
    """File, row, value and problem of a file's rows; as many values as `schema_id` needs."""
    feed = feed_of(folder)
    (folder.path / name).write_bytes(content)
    return told(read(folder.reader(feed)), "_row", "_position", "value", "_problem")


def prefix():
    return read_header(io.BytesIO(header())).prefix


def test_records_are_kept_in_single_object_encoding_with_row_and_byte(folder):
    one, two = block(beats(1, 2)), block(beats(3))
    rows = rows_of(folder, header() + one + block([]) + two)
    begin = len(header()) + 2
    third = len(header()) + len(one) + len(block([])) + 2
    size = len(beats(1)[0])
    assert [row[:2] for row in rows] == [(1, begin), (2, begin + size), (3, third)]
    assert [row[2] for row in rows] == [prefix() + value for value in beats(1, 2, 3)]
    assert prefix()[2:] == fingerprint_of(read_header(io.BytesIO(header())).schema)


@pytest.mark.parametrize("codec", COMPRESS)
def test_blocks_of_each_codec_are_expanded(folder, codec):
    content = header(codec=codec.encode())
    content += block(COMPRESS[codec](b"".join(beats(*range(500)))), count=500)
    rows = rows_of(folder, content)
    assert [row[2][10:] for row in rows] == beats(*range(500))
    assert {row[1] is None for row in rows} == {codec != "null"}


def test_what_fastavro_writes_is_read(folder):
    out, rows = io.BytesIO(), [{"bpm": n, "model": "m" * n} for n in range(300)]
    fastavro.writer(out, BEAT, rows, codec="deflate", sync_interval=500)
    assert [row[2][10:] for row in rows_of(folder, out.getvalue())] == [datum(r) for r in rows]


def test_a_container_may_be_compressed_as_a_whole(folder):
    content = gzip.compress(header() + block(beats(1, 2)))
    rows = rows_of(folder, content, "a.avro.gz")
    assert [(row[0], row[1], row[2][10:]) for row in rows] == [
        (n, None, value) for n, value in enumerate(beats(1, 2), 1)
    ]


def test_a_header_alone_has_no_rows_and_brings_its_schema(folder):
    assert rows_of(folder, header()) == []
    assert rows_of(folder, b"", "empty.avro") == []


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        (b"hello, this is text", "is no Avro object container file"),
        (header()[:40], "is cut off in its header"),
        (header(b"{nonsense"), "has no schema in its header"),
        (header(b""), "has no schema in its header"),
        (header({"type": "fixed", "name": "F", "size": -4}), "has values that are no records"),
        (header({**BEAT, "fields": [{"name": "a", "type": NEGATIVE}]}), "has a schema that"),
        (header({**BEAT, "fields": [{"name": "a", "type": "\ud800"}]}), "has no schema in its"),
        (header({**BEAT, "fields": [{"name": "x" * 10**6, "type": "?"}]}), "has no schema in its"),
        (header({"type": "array", "items": "int"}), "has values that are no records"),
        (header(b'{"type":"array","items":' * 5000 + b'"int"' + b"}" * 5000), "too deeply"),
        (b"Obj\x01" + varint(2**60) + varint(2**60) + b"x" * 99, "has a header that is none"),
        (b"Obj\x01" + varint(-1) + b"\xff" * 10 + b"x" * 99, "has no length at byte"),
        (header() + block(beats(1), count=-1), "has no block at byte"),
        (header() + block(beats(1), count=2**60), "has no block at byte"),
        (header() + block(beats(1), size=-5), "has no block at byte"),
        (header() + block(beats(1), size=2**60), "is cut off in the block"),
        (header() + b"\xff" * 10 + b"rest", "has no length at byte"),
        (header() + block(beats(1), sync=b"x" * 16), "does not end with the file's sync marker"),
    ],
)
def test_a_file_of_which_nothing_can_be_read_is_one_bad_row(folder, content, fact):
    ((row, position, value, problem),) = rows_of(folder, content)
    assert (row, position, value) == (1, None, None)
    assert fact in problem
    assert len(problem) < 500


@pytest.mark.parametrize(
    ("rest", "fact"),
    [
        (block(beats(4, 5))[:-1], "is cut off in the block at byte"),
        (b"\x80", "is cut off in the block at byte"),
        (block(beats(4, 5), sync=b"x" * 16) + block(beats(6)), "sync marker"),
        (b"\0" * 7 + block(beats(4)), "sync marker"),
    ],
)
def test_rows_before_the_place_where_a_file_breaks_are_kept(folder, rest, fact):
    rows = rows_of(folder, header() + block(beats(1, 2)) + block(beats(3)) + rest)
    assert [row[2] and row[2][10:] for row in rows] == [*beats(1, 2, 3), None]
    assert rows[-1][0] == 4
    assert fact in rows[-1][3]


@pytest.mark.parametrize(
    ("bad", "codec", "kept", "fact"),
    [
        (block(beats(2, 3)[0] + b"\x02\xfe\x7f", count=2), "null", 1, "its bytes end"),
        (block(beats(2)[0] + b"\x02" + varint(-9), count=2), "null", 1, "a length is negative"),
        (block(b"\xff" * 11, count=1), "null", 0, "more than 64 bits"),
        (block(beats(2, 3), count=1), "null", 0, "bytes follow it"),
        (block(b"no deflate", count=2), "deflate", 0, "cannot be expanded by deflate"),
        (block(deflated(b"".join(beats(2)))[:-2], count=1), "deflate", 0, "ends too early"),
        (block(COMPRESS["snappy"](beats(2)[0])[:-1] + b"x", count=1), "snappy", 0, "checksum"),
        (block(b"\x02x", count=1), "snappy", 0, "cannot be expanded by snappy"),
        (block(b"x", count=1), "zstandard", 0, "cannot be expanded by zstandard"),
        (block(b"x", count=1), "lzo", 0, "is compressed by 'lzo'"),
    ],
)
def test_what_cannot_be_told_in_a_block_is_one_row_and_the_next_block_is_read(
    folder, bad, codec, kept, fact
):
    compress = COMPRESS.get(codec, bytes)
    after = block(compress(beats(9)[0]), count=1)
    rows = rows_of(folder, header(codec=codec.encode()) + bad + after)
    values = [row[2] for row in rows]
    assert len(values) == kept + 1 + (codec != "lzo") + (codec == "lzo")
    assert values[kept] is None
    assert fact in rows[kept][3]
    if codec != "lzo":
        assert values[-1][10:] == beats(9)[0]


def test_a_record_that_is_too_long_is_a_row_without_value(folder, monkeypatch):
    monkeypatch.setattr(avro_blocks, "MOST_BYTES", 50)
    long = datum({"bpm": 2, "model": "x" * 60})
    rows = rows_of(folder, header() + block([*beats(1), long, *beats(3)]))
    assert [row[2] and row[2][10:] for row in rows] == [beats(1)[0], None, beats(3)[0]]
    assert "is longer than 64 MiB" in rows[1][3]


@pytest.mark.parametrize("codec", ["null", "deflate", "snappy", "zstandard", "bzip2", "xz"])
def test_a_block_that_is_too_large_is_one_row_and_takes_no_memory(folder, monkeypatch, codec):
    for module in (avro_blocks, avro_codecs, avro_container):
        monkeypatch.setattr(module, "MOST_BLOCK", 100_000)
    content = header(codec=codec.encode())
    content += block(COMPRESS[codec](bytes(16_000_000)), count=90_000)
    content += block(COMPRESS[codec](beats(1)[0]), count=1)
    (folder.root / "in").mkdir()
    tracemalloc.start()
    try:
        rows = rows_of(folder, content)
        assert tracemalloc.get_traced_memory()[1] < 14_000_000
    finally:
        tracemalloc.stop()
    assert [row[2] and row[2][10:] for row in rows] == [None, beats(1)[0]]
    assert rows[1][0] == 90_001


def test_large_files_are_cut_at_blocks_and_read_from_there(folder, monkeypatch):
    monkeypatch.setattr(avro_blocks, "MARK_BYTES", 2_000)
    content = header() + b"".join(block(beats(*range(at, at + 10))) for at in range(0, 5_000, 10))
    feed = feed_of(folder)
    (folder.path / "a.avro").write_bytes(content)
    parts = [rows["value"].to_pylist() for rows in batches(folder.reader(feed, max_rows=700))]
    assert max(map(len, parts)) < 1_000
    assert [value[10:] for part in parts for value in part] == beats(*range(5_000))
    marks = entry_of(folder.lake, "beats", "a.avro").marks
    assert all(content[at:].startswith(varint(10)) for _, at in marks)
    (middle,) = batches(folder.reader(feed, start=4_444, max_rows=9_999))
    assert [value[10:] for value in middle["value"].to_pylist()] == beats(*range(4_444, 5_000))


def test_a_record_nested_beyond_what_python_goes_down_is_one_bad_row(folder):
    node = {
        "type": "record",
        "name": "Node",
        "fields": [{"name": "next", "type": ["null", "Node"]}],
    }
    flat = datum({"next": {"next": None}}, node)
    rows = rows_of(folder, header(node) + block([flat, b"\x02" * 100_000 + b"\0"]) + block([flat]))
    assert [row[2] and row[2][10:] for row in rows] == [flat, None, flat]
    assert "nested too deeply" in rows[1][3]


@pytest.mark.parametrize(
    ("kind", "default", "datum"),
    [
        ("long", "no number", b"\x02"),
        (["long", "null"], [], b"\0\x02"),
        ({"type": "enum", "name": "E", "symbols": ["A"], "default": "B"}, "A", b"\0"),
    ],
)
def test_a_default_that_is_none_of_its_type_costs_no_row_of_its_writer(
    folder, kind, default, datum
):
    fields = [{"name": "bpm", "type": kind, "default": default}]
    rows = rows_of(folder, header({**BEAT, "fields": fields}) + block([datum] * 2))
    assert [(row[2][10:], row[3]) for row in rows] == [(datum, None)] * 2
