from datetime import UTC, datetime

import pyarrow as pa
import pytest
from google.protobuf.json_format import MessageToDict

from lake_assets.runtime.protoc import compile_files
from lake_assets.sinks.kafka.field_values import UnfitError
from lake_assets.sinks.kafka.message_text import text_of
from lake_assets.sinks.kafka.message_types import MisfitError, extend, new_file
from lake_assets.sinks.kafka.message_values import encoder_for, message_class

STAMP = pa.timestamp("us", tz="UTC")
PLACE = pa.struct([("x", pa.float64()), ("names", pa.list_(pa.string()))])
COLUMNS = pa.schema(
    [
        ("player", pa.string()),
        ("coins", pa.int32()),
        ("at", STAMP),
        ("place", PLACE),
        ("hits", pa.list_(PLACE)),
        ("scores", pa.map_(pa.string(), pa.int64())),
        ("stays", pa.map_(pa.string(), PLACE)),
    ]
)


def _class(body, name="A"):
    text = f'syntax = "proto3"; import "google/protobuf/timestamp.proto"; {body}'
    return message_class(compile_files("subject", {"feed.proto": text}), name)


def _own():
    file = new_file("plays")
    extend(file.message_type[0], COLUMNS)
    made = compile_files("subject", {"feed.proto": text_of(file)})
    return message_class(made, "lake_assets.Plays")


def _row(**values):
    return dict.fromkeys(COLUMNS.names) | values


def _decoded(row):
    made = _own()
    message = made()
    message.ParseFromString(encoder_for(made, COLUMNS).encode(row))
    return MessageToDict(message)


def test_a_row_is_what_its_message_says():
    place = {"x": 0.0, "names": ["a", ""]}
    row = _row(
        player="",
        coins=-5,
        at=datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        place=place,
        hits=[place, {"x": None, "names": None}],
        scores=[("one", 1)],
        stays=[("home", {"x": None, "names": []})],
    )
    assert _decoded(row) == {
        "player": "",
        "coins": -5,
        "at": "1969-12-31T23:59:59.999999Z",
        "place": place,
        "hits": [place, {}],
        "scores": {"one": "1"},
        "stays": {"home": {}},
    }


def test_what_is_null_is_not_there():
    assert _decoded(_row()) == {}
    assert _decoded(_row(place={"x": None, "names": None})) == {"place": {}}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"at": "12026-01-01T00:00:00.000000Z"}, "at is 12026-.*: a Timestamp has the years"),
        ({"hits": [None]}, "hits has null among its values"),
        ({"place": {"x": 1.0, "names": [None]}}, r"place\.names has null among its values"),
        ({"scores": [("one", None)]}, "scores has null under 'one'"),
        ({"player": "\ud800"}, "player does not fit string"),
    ],
)
def test_a_value_that_a_message_cannot_have_is_refused(values, why):
    with pytest.raises(UnfitError, match=f"^{why}"):
        encoder_for(_own(), COLUMNS).encode(_row(**values))


def test_a_users_type_takes_what_it_holds_exactly():
    made = _class("message A { sint32 n = 1; optional string s = 2; string other = 3; }")
    encoder = encoder_for(made, pa.schema([("n", pa.int64()), ("s", pa.string())]))
    message = made()
    message.ParseFromString(encoder.encode({"n": -3, "s": None}))
    assert (message.n, message.HasField("s")) == (-3, False)
    with pytest.raises(UnfitError, match="n does not fit sint32"):
        encoder.encode({"n": 2**31, "s": None})
    with pytest.raises(UnfitError, match="n is null, and its field always has a value"):
        encoder.encode({"n": None, "s": None})


def test_two_values_of_a_oneof_are_refused():
    made = _class("message A { oneof one { string a = 1; string b = 2; } }")
    encoder = encoder_for(made, pa.schema([("a", pa.string()), ("b", pa.string())]))
    assert encoder.encode({"a": None, "b": "x"}) == b"\x12\x01x"
    with pytest.raises(UnfitError, match="b is the second value of oneof one"):
        encoder.encode({"a": "x", "b": "x"})


@pytest.mark.parametrize(
    ("body", "column", "why"),
    [
        ("message A { string b = 1; }", ("a", pa.string()), "A has no field a"),
        ("message A { repeated string a = 1; }", ("a", pa.string()), "is repeated string"),
        ("message A { string a = 1; }", ("a", pa.list_(pa.string())), "is string"),
        ("message A { string a = 1; }", ("a", STAMP), "is string"),
        ("message A { google.protobuf.Timestamp a = 1; }", ("a", PLACE), "is google.protobuf"),
        ("message B { int32 x = 1; } message A { B a = 1; }", ("a", PLACE), r"a\.x is double"),
        ("message A { map<string, string> a = 1; }", ("a", pa.list_(pa.string())), "is a map"),
    ],
)
def test_a_column_that_a_users_type_does_not_take_is_told(body, column, why):
    with pytest.raises(MisfitError, match=why):
        encoder_for(_class(body), pa.schema([column]))


def test_a_field_that_has_to_be_there_is_told():
    text = 'syntax = "proto2"; message A { required string a = 1; required string b = 2; }'
    made = message_class(compile_files("subject", {"feed.proto": text}), "A")
    with pytest.raises(MisfitError, match="A requires b, which rows do not have"):
        encoder_for(made, pa.schema([("a", pa.string())]))
