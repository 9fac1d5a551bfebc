import io
import json

import pytest

from lake_assets.export.lines import delimited, is_framed, json_line
from lake_assets.formats.json.parse import NotReadableError, parse
from lake_assets.sources.files.delimited import Messages

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize(
    "value",
    [b'{"a": 1.50}', b' {"a": 1}', b"[1]", b"no json", b'{"a": 1}\r', b'{"a": "\xff"}', b"\0\0"],
)
def test_what_is_a_line_stays_as_it_is(value):
    assert json_line(value) == value + b"\n"


@pytest.mark.parametrize(
    "value", [b'{\n "a":\r\n "x\\ny"\n}\n', b'\n{"a": 1}', BOM + b'{"a": 1}', BOM + b'{\n"a": 1}']
)
def test_json_of_several_lines_becomes_one_that_means_the_same(value):
    line = json_line(value)
    assert line.index(b"\n") == len(line) - 1
    assert parse(line) == parse(value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b" \t\r\n",
        BOM,
        b'{"a": "x\ny"}',
        b'{"a": 1}\n{"a": 2}',
        b"\xff\n",
        b"[" * 100_000 + b"\n",
        BOM + BOM + b'{"a": 1}',
    ],
)
def test_what_is_no_line_and_no_json_becomes_one_line_that_feeds_refuse(value):
    line = json_line(value)
    assert line.index(b"\n") == len(line) - 1
    assert line.strip()
    for at in (line, line.removeprefix(BOM)):  # as on another line, and on the first of a file
        with pytest.raises(NotReadableError):
            parse(at)


def test_a_string_in_place_of_a_value_tells_what_it_was():
    assert json.loads(json_line(b"no\n\xffjson")) == "no\n\\xffjson"


@pytest.mark.parametrize("size", [0, 1, 127, 128, 16_383, 16_384, 3_000_000])
def test_delimited_values_are_read_back(size):
    values = [b"x" * size, b"y"]
    stream = io.BytesIO(b"".join(map(delimited, values)))
    assert [value for rows in Messages(stream) for value in rows.values] == values


def test_a_missing_value_is_an_empty_message():
    assert delimited(None) == b"\0"


def test_framed_values_are_told_by_their_first_byte():
    assert [*map(is_framed, (b"\0\0\0\0\1", b"{", b"", None))] == [True, False, False, False]
