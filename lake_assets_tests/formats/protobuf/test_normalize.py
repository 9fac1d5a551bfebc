"""Whole arrays of messages that are not in the form which google.protobuf writes."""

import pyarrow as pa
import pytest

from lake_assets.formats.protobuf.decoders import handler_of
from lake_assets.formats.protobuf.isolate_errors import isolate
from lake_assets.formats.protobuf.normalize import normal_of
from lake_assets_tests.formats.protobuf.given import descriptor_set_of, message_of, rows_of, schemas
from lake_assets_tests.formats.protobuf.random_messages import fill

HEADER = b"\0\0\0\0\1\0"
BODY = (
    'import "google/protobuf/timestamp.proto"; message event { int32 id = 1; '
    "oneof o { int32 a = 2; string b = 3; N n = 4; } map<string, int32> m = 5; "
    "map<string, N> k = 6; N p = 7; repeated N r = 8; "
    "map<int32, google.protobuf.Timestamp> t = 9; } "
    "message N { int32 x = 1; oneof z { int32 y = 2; bool w = 3; } map<bool, N2> d = 4; } "
    "message N2 { string s = 1; }"
)
WITHOUT_VALUE = b"\x32\x03\x0a\x01k"
"""An entry of `k` that has a key alone."""


def framed(*parts):
    """Messages that are joined to one, serialized ones or what their fields are."""
    made = [p if isinstance(p, bytes) else message_of(BODY, **p).SerializeToString() for p in parts]
    return HEADER + b"".join(made)


def read(*values):
    """Rows of `event`, without fields that are not set."""
    rows = rows_of(schemas(BODY), *values)
    return [{k: v for k, v in row.items() if v not in (None, [])} for row in rows]


def nested(**values):
    return {"x": 0, "y": None, "w": None, "d": [], **values}


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        (({"a": 1}, {"b": "x"}), {"b": "x"}),
        (({"b": "x"}, {"a": 1}), {"a": 1}),
        (({"n": {"x": 1}}, {"a": 0}), {"a": 0}),
        (({"n": {"x": 1}}, {"a": 1}, {"n": {"y": 2}}), {"n": nested(y=2)}),
        (({"p": {"x": 5, "y": 1}}, {"p": {"w": True}}), {"p": nested(x=5, w=True)}),
        (({"m": {"k": 1, "j": 3}}, {"m": {"k": 2}}), {"m": [("j", 3), ("k", 2)]}),
        (({"k": {"k": {"x": 1}}}, {"k": {"k": {"y": 2}}}), {"k": [("k", nested(y=2))]}),
        (({"k": {"k": {"x": 1}}}, WITHOUT_VALUE), {"k": [("k", nested())]}),
        ((WITHOUT_VALUE,), {"k": [("k", nested())]}),
        ((b"\x32\x00",), {"k": [("", nested())]}),
        ((b"\x42\x04\x22\x02\x08\x01",), {"r": [nested(d=[(True, {"s": ""})])]}),
    ],
)
def test_a_message_is_what_protobuf_says_and_its_neighbours_stay(parts, found):
    plain, cut = framed({"id": 1, "a": 7}), framed({"id": 4})
    rows = read(plain, framed({"id": 2}, *parts), plain, framed({"id": 3}, *parts), cut)
    assert [{**row, "m": sorted(row["m"])} if "m" in row else row for row in rows] == [
        {"id": 1, "a": 7},
        {"id": 2, **found},
        {"id": 1, "a": 7},
        {"id": 3, **found},
        {"id": 4},
    ]


def test_within_lists_and_maps_the_right_rows_are_found():
    twice = message_of(BODY, "N", y=1).SerializeToString()
    twice += message_of(BODY, "N", w=True).SerializeToString()
    in_list = b"\x42" + bytes([len(twice)]) + twice
    in_map = b"\x32" + bytes([len(twice) + 5]) + b"\x0a\x01k\x12" + bytes([len(twice)]) + twice
    some = {"r": [{"y": 1}, {"w": False}]}
    rows = read(framed(some), framed(some, in_list), framed(), framed(some, in_map), framed(some))
    both = [nested(y=1), nested(w=False)]
    assert [row.get("r") for row in rows] == [both, [*both, nested(w=True)], None, both, both]
    assert rows[3]["k"] == [("k", nested(w=True))]


@pytest.mark.parametrize("entries", [2, 5, 40])
def test_a_key_may_come_again_anywhere_in_a_map(entries):
    for first in range(0, entries, 7):
        keys = {"m": {f"k{number}": number for number in range(entries)}}
        whole, again = framed(keys), framed(keys, {"m": {f"k{first}": -1}})
        rows = read(whole, again, whole, framed())
        assert [dict(row.get("m", ())) for row in rows] == [
            keys["m"],
            {**keys["m"], f"k{first}": -1},
            keys["m"],
            {},
        ]
        assert [len(row.get("m", ())) for row in rows] == [entries, entries, entries, 0]


def test_bad_messages_among_them_are_refused_alone():
    values = [framed({"a": 1}, {"b": "x"}), framed(WITHOUT_VALUE), framed(b"\x08")]
    values += [framed({"id": 9}), framed({"m": {"k": 1}}, {"m": {"k": 2}})]
    set_ = descriptor_set_of(BODY)
    found = isolate(handler_of("event", set_), pa.array(values), normal_of("event", set_))
    assert found.refused == {2: "unexpected EOF in varint"}
    assert found.decoded["a"].null_count == 4
    assert found.decoded["b"].to_pylist() == ["x", None, None, None]
    assert found.decoded["id"].to_pylist() == [0, 0, 9, 0]
    assert found.decoded["m"].to_pylist()[3] == [("k", 2)]


def test_a_time_out_of_range_is_found_in_what_was_written_anew():
    late = fill(message_of(BODY), {"t": {1: {"seconds": 2**40}}})
    values = pa.array([framed({"id": 1}), framed(late.SerializeToString(), {"a": 1}, {"b": "x"})])
    set_ = descriptor_set_of(BODY)
    found = isolate(handler_of("event", set_), values, normal_of("event", set_))
    assert (found.decoded.num_rows, list(found.refused)) == (1, [1])


def test_what_google_protobuf_refuses_is_not_written():
    normal = normal_of("event", descriptor_set_of(BODY))
    assert normal.rewrite(HEADER + b"\x08") is None
    assert normal.rewrite(HEADER + b"\x08\1") == HEADER + b"\x08\1"


@pytest.mark.parametrize(
    ("body", "is_idle"),
    [
        ("message event { int32 a = 1; optional N n = 2; } message N { int32 b = 1; }", True),
        ("message event { oneof o { int32 a = 1; } }", True),
        ("message event { repeated N n = 2; } message N { map<int32, int32> b = 1; }", False),
        ("message event { map<int32, N> n = 2; } message N { event b = 1; }", False),
    ],
)
def test_messages_in_which_nothing_can_differ_are_not_looked_at(body, is_idle):
    assert normal_of("event", descriptor_set_of(body)).checks.is_idle == is_idle
