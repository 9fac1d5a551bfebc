import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.erasure.wire_numbers import forms, has_number


def varint(number):
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def field(number, kind, value):
    return varint(number << 3 | kind) + value


def packed(message):
    return varint(len(message)) + message


NUMBERS = {
    "uint64": (987654321, field(3, 0, varint(987654321))),
    "negative": (-987654321, field(3, 0, varint(2**64 - 987654321))),
    "sint64": (-987654321, field(3, 0, varint(987654321 * 2 - 1))),
    "sint64, positive": (987654321, field(3, 0, varint(987654321 * 2))),
    "fixed64": (987654321, field(3, 1, struct.pack("<q", 987654321))),
    "sfixed32": (-987654321, field(3, 5, struct.pack("<i", -987654321))),
}


@pytest.mark.parametrize("what", NUMBERS)
@pytest.mark.parametrize("before", [b"", b"\0\0\0\0\7\0", b"\0\0\0\0\7\2\4", b"\0\0\0\0\7\4\0\2"])
def test_numbers_are_found_in_messages_and_in_messages_in_them(what, before):
    number, value = NUMBERS[what]
    text = field(1, 2, packed(b"zaphod"))
    nested = text + field(9, 2, packed(text + value))
    assert has_number(before + text + value, number)
    assert has_number(before + nested, number)
    assert not has_number(before + nested, number + 2)


def test_the_bytes_of_a_number_elsewhere_are_none():
    assert not has_number(field(1, 2, packed(b"text " + varint(987654321))), 987654321)
    assert not has_number(b'{"id": 987654321}', 987654321)


@given(st.integers(-(2**63), 2**64 - 1), st.integers(1, 2**20))
def test_each_form_is_found(number, tag):
    kinds = {4: 5, 8: 1}
    for form in forms(number):
        assert has_number(field(tag, kinds.get(len(form), 0), form), number) or len(form) in kinds


@given(st.binary(max_size=200), st.integers())
def test_whatever_comes_is_no_error(payload, number):
    has_number(payload, number)
