"""Files of delimited messages, whole and broken, by the reader that Spark asks."""

import gzip
import io

import pytest

from lake_assets.model.payload import Payload
from lake_assets.sources.files import delimited
from lake_assets_tests.sources.files.folders import Folder, batches, read, told

PROTOBUF = Payload.model_validate({"protobuf": {"subject": "beats"}})


def length(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def written(*messages):
    return b"".join(length(len(message)) + message for message in messages)


@pytest.fixture
def folder(tmp_path):
    found = Folder(tmp_path)
    found.path.mkdir()
    return found


def feed_of(folder):
    return folder.feed(PROTOBUF, format="protobuf")


def rows_of(folder, content, name="a.bin"):
    (folder.path / name).write_bytes(content)
    rows = read(folder.reader(feed_of(folder)))
    return told(rows, "_row", "_position", "value", "_problem")


def test_messages_have_number_and_first_byte(folder):
    messages = [b"one", b"", b"x" * 300]
    rows = rows_of(folder, written(*messages))
    assert rows == [(1, 1, b"one", None), (2, 5, b"", None), (3, 7, b"x" * 300, None)]
    packed = rows_of(folder, gzip.compress(written(*messages)), "b.bin.gz")
    assert packed[3:] == [(n, None, message, None) for n, message in enumerate(messages, 1)]


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1_000])
def test_messages_are_the_same_however_the_stream_is_cut(folder, monkeypatch, chunk):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", chunk)
    monkeypatch.setattr(delimited, "MOST_BYTES", 200)
    monkeypatch.setattr(delimited, "MARK_BYTES", 100)
    messages = [bytes([n]) * n for n in range(200)] + [b"l" * 201, b"end", b"L" * 5_000, b"z"]
    content = written(*messages)
    kept = [message if len(message) <= 200 else None for message in messages]
    feed = feed_of(folder)
    (folder.path / "a.bin").write_bytes(content)
    parts = list(batches(folder.reader(feed, max_rows=30)))
    assert len(parts) > 3
    rows = [row for part in parts for row in told(part, "_row", "_position", "value", "_problem")]
    assert [row[2] for row in rows] == kept
    assert [row[0] for row in rows] == list(range(1, len(messages) + 1))
    for (_, position, _, problem), message in zip(rows, messages, strict=True):
        assert content[position:].startswith(message)
        assert bool(problem) == (len(message) > 200)


@pytest.mark.parametrize(
    ("rest", "fact"),
    [
        (b"\x05abcd", "is cut off in the message at byte 8"),
        (b"\x80", "is cut off in the message at byte 8"),
        (b"\xff" * 10 + b"x", "has no message at byte 8"),
        (b"\xff" * 9 + b"\x01", "has no message at byte 8"),
        (length(2**62) + b"x", "is cut off in the message at byte 8"),
    ],
)
def test_messages_before_the_place_where_a_file_breaks_are_kept(folder, rest, fact):
    rows = rows_of(folder, written(b"one", b"two") + rest)
    assert [row[2] for row in rows] == [b"one", b"two", None]
    assert fact in rows[-1][3]
    ((number, value, problem),) = told(
        read(folder.reader(feed_of(folder), start=2)), "_row", "value", "_problem"
    )
    assert (number, value) == (3, None)
    assert fact in problem


def test_a_file_of_no_message_is_one_bad_row(folder):
    ((row, position, value, problem),) = rows_of(folder, b"\xff" * 20)
    assert (row, position, value) == (1, None, None)
    assert "has no message at byte 0" in problem


def test_a_long_message_is_put_together_once(monkeypatch):
    monkeypatch.setattr(delimited, "CHUNK_BYTES", 10)
    long = b"x" * 10_000
    messages = _Looked(io.BytesIO(written(b"a", long, b"b")))
    values = [value for rows in messages for value in rows.values]
    assert values == [b"a", long, b"b"]
    assert messages.looks < 5


class _Looked(delimited.Messages):
    """Counts how often it looks for whole messages."""

    looks = 0

    def _whole(self):
        self.looks += 1
        return super()._whole()
