"""Framed JSON rows by the versions of their subject."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from lake_assets.errors import SchemaUnusableError, UnknownColumnsError
from lake_assets_tests.formats.json_schema.given import (
    decode_all,
    document,
    framed,
    rows_of,
    subject,
    waiting,
)

TEXT, NUMBER, FRACTION = {"type": "string"}, {"type": "integer"}, {"type": "number"}

SHOP = document(
    shop=TEXT,
    price=FRACTION,
    at={"type": "string", "format": "date-time"},
    lines={"type": "array", "items": document(sku=TEXT, count=NUMBER)},
    tags={"type": "object", "additionalProperties": TEXT},
    extra={},
)


def test_values_become_columns():
    lines = [{"sku": "a", "count": 2}, {"sku": None}]
    value = {"shop": "x", "price": 1, "at": "2026-11-25T12:00:00+02:00", "lines": lines}
    (row,) = rows_of(subject(SHOP), framed(1, {**value, "tags": {"k": "v"}, "extra": [1, 2.50]}))
    assert row == {
        "shop": "x",
        "price": 1.0,
        "at": datetime(2026, 11, 25, 10, tzinfo=UTC),
        "lines": [{"sku": "a", "count": 2}, {"sku": None, "count": None}],
        "tags": [("k", "v")],
        "extra": "[1,2.5]",
        "_rescued": None,
    }


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (7, "7"), (True, "true"), ({"a": None}, '{"a":null}'), (None, None)],
)
def test_text_of_any_value_is_a_string_as_it_is_and_others_as_json(value, text):
    (row,) = rows_of(subject(document(x={})), framed(1, {"x": value}))
    assert row == {"x": text, "_rescued": None}


def test_digits_of_a_number_as_text_are_those_that_came():
    (row,) = rows_of(subject(document(x={})), framed(1, b'{"x": [1.50, 1e400]}'))
    assert row["x"] == "[1.50,1e400]"


def test_what_does_not_fit_is_rescued_or_quarantined():
    known = subject(document(n=NUMBER, at={"type": "string", "format": "date-time"}))
    bad = framed(1, {"n": 2**63, "at": "soon", "more": 1})
    (read,) = rows_of(known, bad)
    rescued = json.loads(read["_rescued"], parse_int=Decimal)
    columns = {name: value for name, value in read.items() if name != "_rescued"}
    assert (columns, rescued) == ({"n": None, "at": None}, {"n": 2**63, "at": "soon", "more": 1})
    (row,) = rows_of(known, bad, on_mismatch="quarantine")
    assert row == {"type_mismatch": "n is no bigint: 9223372036854775808"}
    fine = framed(1, {"n": 1, "more": 1})
    assert rows_of(known, fine, on_unknown="quarantine") == [
        {"unknown_column": "no column is declared for more"}
    ]
    assert rows_of(known, fine, on_unknown="ignore", on_mismatch="quarantine") == [
        {"n": 1, "at": None}
    ]


def test_names_at_which_the_feed_stops_are_asked_about():
    known = subject(document(n=NUMBER))
    found = decode_all(known, framed(1, {"n": 1, "more": 1}), on_unknown="fail")
    assert found.questions[0].names == ("more",)
    assert found.question.to_pylist() == [0]


def test_each_version_is_read_into_the_columns_of_all():
    known = subject(document(a=NUMBER), document(a=FRACTION, b=TEXT), document(a=NUMBER, c=TEXT))
    rows = rows_of(
        known, framed(1, {"a": 1}), framed(2, {"a": 1.5, "b": "x"}), framed(3, {"a": 2, "c": "y"})
    )
    assert rows == [
        {"a": 1.0, "c": None, "b": None, "_rescued": None},
        {"a": 1.5, "c": None, "b": "x", "_rescued": None},
        {"a": 2.0, "c": "y", "b": None, "_rescued": None},
    ]


def test_columns_of_an_older_version_come_with_its_first_row():
    known = subject(document(a=NUMBER, old=TEXT), document(a=NUMBER))
    (row,) = rows_of(known, framed(2, {"a": 1}))
    assert row == {"a": 1, "_rescued": None}
    (row,) = rows_of(known, framed(1, {"a": 1, "old": "x"}))
    assert row == {"a": 1, "old": "x", "_rescued": None}


def test_a_type_that_does_not_go_with_the_column_is_rescued_value_by_value():
    known = subject(document(a=NUMBER), document(a=TEXT))
    have = pa.schema([("a", pa.int64()), ("_rescued", pa.string())])
    rows = rows_of(known, framed(2, {"a": "x"}), framed(1, {"a": 1}), have=have)
    assert rows == [{"a": None, "_rescued": '{"a":"x"}'}, {"a": 1, "_rescued": None}]


def test_a_column_of_text_takes_what_is_of_any_type_by_now():
    known = subject(document(a=TEXT), document(a={"type": ["string", "integer"]}))
    have = pa.schema([("a", pa.string()), ("_rescued", pa.string())])
    rows = rows_of(known, framed(2, {"a": 7}), framed(1, {"a": "x"}), have=have)
    assert [row["a"] for row in rows] == ["7", "x"]


def test_columns_of_tables_stay_and_get_wider():
    have = pa.schema([("gone", pa.string()), ("_rescued", pa.string()), ("a", pa.int32())])
    found = decode_all(subject(document(a=NUMBER)), framed(1, {"a": 2**40}), have=have)
    assert found.columns.schema.names == ["gone", "_rescued", "a"]
    assert found.columns.to_pylist() == [{"gone": None, "_rescued": None, "a": 2**40}]


def test_a_column_that_streams_write_integers_to_stays_one_and_rescues_fractions():
    known = subject(document(a=NUMBER), document(a=FRACTION)).keep_integers(["a"])
    have = pa.schema([("a", pa.int64()), ("_rescued", pa.string())])
    found = decode_all(known, framed(2, {"a": 1}), framed(2, {"a": 1.5}), have=have)
    assert found.columns.schema.field("a").type == pa.int64()
    rows = found.columns.to_pylist()
    assert [(row["a"], row["_rescued"]) for row in rows] == [(1, None), (None, '{"a":1.5}')]


def test_rows_of_other_ids_are_told_apart():
    known = waiting(subject(document(a=NUMBER), unknown_ids=frozenset({8})), 9)
    known = known.with_others(unknown=[8], foreign=[7], now=0)
    rows = rows_of(
        known,
        framed(1, {"a": 1}),
        framed(7, {}),
        framed(8, {}),
        framed(9, {}),
        b'{"a": 1}',
        None,
        framed(1, b""),
        framed(1, b"[1]"),
    )
    assert rows == [
        {"a": 1, "_rescued": None},
        {"foreign_schema": "schema id 7 is not of subject s"},
        {"unknown_schema": "schema id 8"},
        {"waiting": "the registry does not answer for schema id 9"},
        {"not_framed": None},
        {"empty_value": None},
        {"empty_value": None},
        {"undecodable": "at character 0: an array, not an object"},
    ]


def test_an_id_that_nobody_knows_is_asked_about_beside_what_values_ask():
    known = subject(document(a=NUMBER))
    found = decode_all(known, framed(5, {}), framed(1, {"b": 1}), on_unknown="fail")
    assert [type(one).__name__ for one in found.questions] == [
        "SchemaIdQuestion",
        "UnknownNamesQuestion",
    ]
    assert found.question.to_pylist() == [0, 1]
    assert found.reason.to_pylist() == [None, None]


def test_a_version_without_the_route_is_refused_and_others_are_read():
    known = subject(document(a=NUMBER), document(kind=TEXT))
    rows = rows_of(known, framed(1, {"a": 1}), framed(2, {"kind": "x"}), route="kind")
    assert rows == [
        {"incompatible_schema": "version 1 has no property kind, which says where a row goes"},
        {"kind": "x", "_rescued": None},
    ]


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        (TEXT, "describes no object with properties"),
        (document(kind={"type": "number"}), "property kind that is double, and it says where"),
        (document(_offset=TEXT), "no property whose name can be that of a column"),
    ],
)
def test_a_subject_without_a_version_that_makes_columns_is_told(wrong, fact):
    with pytest.raises(SchemaUnusableError, match=f"version 1 .*{fact}"):
        decode_all(subject(wrong), route="kind" if wrong != TEXT else None)


def test_names_that_stop_a_feed_are_an_error_of_the_format():
    from lake_assets.formats.json_schema.payload_format import JsonSchemaFormat
    from lake_assets.formats.questions import UnknownNamesQuestion
    from lake_assets.model.payload import JsonPayload
    from lake_assets_tests.formats.json_schema.given import NoRegistry

    own = JsonSchemaFormat(JsonPayload(subject="s"), NoRegistry(), "f")
    asked = frozenset({UnknownNamesQuestion(("b",))})
    for answer in (own.resolve, own.let_wait):
        with pytest.raises(UnknownColumnsError, match="b"):
            answer(subject(document(a=NUMBER)), asked)
