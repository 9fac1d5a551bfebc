"""Schemas and messages of protobuf that little text makes huge."""

import pyarrow as pa
import pytest

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.protobuf.decoders import handler_of
from lake_assets.formats.protobuf.isolate_errors import isolate
from lake_assets_tests.formats.protobuf.given import descriptor_set_of

HEADER = b"\0\0\0\0\7\0"

CLIQUE = range(14)

BOMBS = {
    "doubling": "message event { M0 a = 1; } "
    + " ".join(f"message M{i} {{ M{i + 1} a = 1; M{i + 1} b = 2; }}" for i in range(25))
    + " message M25 { int32 x = 1; }",
    "each other": "message event { M0 a = 1; } "
    + " ".join(
        f"message M{i} {{ {' '.join(f'M{j} a{j} = {j + 1};' for j in CLIQUE if j != i)} }}"
        for i in CLIQUE
    ),
    "chain": "message event { M0 a = 1; } "
    + " ".join(f"message M{i} {{ M{i + 1} a = 1; }}" for i in range(2_000))
    + " message M2000 { int32 x = 1; }",
    "lists": "message event { M0 a = 1; } "
    + " ".join(f"message M{i} {{ repeated M{i + 1} a = 1; }}" for i in range(40))
    + " message M40 { int32 x = 1; }",
    "maps": "message event { M0 a = 1; } "
    + " ".join(f"message M{i} {{ map<string, M{i + 1}> a = 1; }}" for i in range(40))
    + " message M40 { int32 x = 1; }",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_message_of_too_many_or_too_deep_columns_is_refused(name):
    with pytest.raises(SchemaUnusableError, match=r"more than 10,000 fields|nested too deep"):
        handler_of("event", descriptor_set_of(BOMBS[name]))


@pytest.mark.parametrize(
    "kind", ["M{}", "repeated M{}", "map<string, M{}>"], ids=["messages", "lists", "maps"]
)
def test_the_deepest_that_is_taken_is_decoded(kind):
    levels = {"M{}": 54, "repeated M{}": 27, "map<string, M{}>": 17}[kind]
    chain = " ".join(f"message M{i} {{ {kind.format(i + 1)} a = 1; }}" for i in range(levels))
    text = (
        f"message event {{ int32 n = 2; M0 a = 1; }} {chain} message M{levels} {{ int32 x = 1; }}"
    )
    handler = handler_of("event", descriptor_set_of(text))
    found = isolate(handler, pa.array([HEADER + b"\x10\x05"], pa.binary()))
    assert found.decoded["n"].to_pylist() == [5]


def test_a_message_beside_a_bomb_is_decoded():
    text = (
        BOMBS["doubling"].replace("message event", "message bomb")
        + " message event { int32 n = 1; }"
    )
    handler = handler_of("event", descriptor_set_of(text))
    found = isolate(handler, pa.array([HEADER + b"\x08\x05"], pa.binary()))
    assert found.decoded["n"].to_pylist() == [5]


def _deep(levels):
    message = b""
    for _ in range(levels):
        size, length = len(message), b""
        while size > 127:
            length, size = length + bytes([size & 127 | 128]), size >> 7
        message = b"\x4a" + length + bytes([size]) + message
    return message


@pytest.mark.parametrize(
    ("message", "is_taken"),
    [
        (_deep(3_000), True),  # of a field that nobody knows
        (b"\x4b" * 100_000, False),  # groups that do not end
        (b"\x4b" * 50_000 + b"\x4c" * 50_000, True),
        (b"\x1a\xff\xff\xff\xff\x07x", False),  # a text of 2 GiB, by what it says
        (b"\x1a" + b"\xff" * 8 + b"\x7fx", False),
        (b"\x12\x80\xe1\xeb\x17" + b"\1", False),
        (b"\x2a\0" * 1_000_000, True),  # a million empty messages
        (b"\x22\x02\x08\1" * 300_000, True),  # one that comes again and again
    ],
)
def test_a_message_that_says_more_than_it_has_is_refused_alone(message, is_taken):
    text = "message event { int32 a = 1; repeated int32 r = 2; string s = 3; N n = 4; "
    text += "repeated N rn = 5; } message N { int32 x = 1; }"
    handler = handler_of("event", descriptor_set_of(text))
    good = HEADER + b"\x08\1"
    found = isolate(handler, pa.array([good, HEADER + message, good], pa.binary()))
    assert (found.decoded.num_rows, list(found.refused)) == ((3, []) if is_taken else (2, [1]))
