import pyarrow as pa
import pytest

from lake_assets.formats.confluent.framing import Header, headers_of, is_short, parse, strip

ID = b"\0\0\0\0\7"


def zigzag(*numbers):
    """Varints as Confluent's serializer writes them."""
    written = bytearray()
    for number in numbers:
        rest = number << 1 if number >= 0 else (-number << 1) - 1
        while rest >= 0x80:
            written.append(rest & 0x7F | 0x80)
            rest >>= 7
        written.append(rest)
    return bytes(written)


PATHS = [(0,), (1,), (2, 0), (63,), (64,), (5, 200, 3), (10_000,), tuple(range(16))]


def paths_of(*values):
    headers = headers_of(pa.array(values, pa.binary()))
    kinds = [headers.kinds[code] for code in headers.which.to_pylist()]
    return [kind.path if kind else None for kind in kinds]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_read_whatever_follows(path):
    head = zigzag(len(path), *path)
    assert parse(head) == parse(head + b"\xff" * 9) == Header(path, len(head))
    assert paths_of(ID + head, ID + head + b"\x0a\x01x") == [path, path]


def test_one_zero_is_the_first_message():
    assert parse(b"\0\x0a") == Header((0,), 1)


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_breaks_off_is_none(path):
    head = zigzag(len(path), *path)
    assert paths_of(*(ID + head[:end] for end in range(len(head)))) == [None] * len(head)


@pytest.mark.parametrize(
    "head", [b"", b"\1", b"\x22" + b"\0" * 17, b"\2\1", b"\xff" * 20, b"\2" + b"\xff" * 20]
)
def test_bytes_that_are_no_path_are_none(head):
    assert paths_of(ID + head, ID + b"\0") == [None, (0,)]


def test_null_and_short_values_have_none():
    assert paths_of(None, b"", b"\0\0", ID + b"\0") == [None, None, None, (0,)]


def test_paths_of_all_lengths_keep_their_places():
    heads = [zigzag(len(path), *path) for path in PATHS]
    values = [ID + head + b"\x08\1" for head in heads] * 3
    assert paths_of(*values) == PATHS * 3


def test_only_the_single_zero_is_short():
    values = pa.array([ID + b"\0", ID + b"\2\0", ID, None], pa.binary())
    assert is_short(values).to_pylist() == [True, False, False, None]


def test_every_path_is_written_short_and_the_message_stays():
    heads = [b"\0", b"\2\0", *(zigzag(len(path), *path) for path in PATHS)]
    values = pa.array([ID + head + b"\x08\1" for head in heads], pa.binary())
    assert set(strip(values, headers_of(values)).to_pylist()) == {ID + b"\0\x08\1"}
