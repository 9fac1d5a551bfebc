import re

import pytest
from pydantic import ValidationError

from lake_assets.errors import FeedError
from lake_assets.model.misfits import OnMismatch, OnUnknown
from lake_assets.model.payload import Payload

JSON = Payload.model_validate({"json": {"schema": "a int"}})
PROTOBUF = Payload.model_validate({"protobuf": {"subject": "s"}})


def test_a_payload_is_of_one_format():
    assert (JSON.format, PROTOBUF.format) == ("json", "protobuf")
    assert [column.name for column in JSON.json_.columns] == ["a"]


@pytest.mark.parametrize(
    "declared", [{}, {"json": {"schema": "a int"}, "protobuf": {"subject": "s"}}]
)
def test_a_payload_of_none_or_two_formats_is_refused(declared):
    with pytest.raises(ValidationError, match="give exactly one of avro, csv, json, protobuf"):
        Payload.model_validate(declared)


def test_what_does_not_fit_is_rescued_unless_the_feed_says_otherwise():
    assert JSON.json_.on_mismatch is OnMismatch.RESCUE
    assert JSON.json_.on_unknown is OnUnknown.RESCUE
    strict = {"schema": "a int", "on_mismatch": "quarantine", "on_unknown": "ignore"}
    assert JSON.json_.rescues
    assert not Payload.model_validate({"json": strict}).json_.rescues


def test_a_payload_comes_back_from_its_own_json():
    assert Payload.model_validate_json(JSON.model_dump_json()) == JSON


def test_only_registered_schemas_have_a_subject():
    assert PROTOBUF.subject == "s"
    assert Payload.model_validate({"avro": {"subject": "a"}}).subject == "a"
    with pytest.raises(FeedError, match="is json, which has no subject"):
        assert JSON.subject


@pytest.mark.parametrize("name", ["_offset", "_Topic", "_rescued"])
def test_columns_that_silver_adds_cannot_be_declared(name):
    with pytest.raises(ValidationError, match=f"{name} is a column that silver has already"):
        Payload.model_validate({"json": {"schema": f"{name} int"}})


INFERRING = {"infer": True, "hints": "kcal int"}


def test_what_is_inferred_adds_columns_unless_the_feed_says_otherwise():
    inferring = Payload.model_validate({"json": INFERRING})
    assert (inferring.infers, inferring.grows) == (True, True)
    assert inferring.json_.on_unknown is OnUnknown.ADD_COLUMNS
    assert [column.name for column in inferring.json_.columns] == ["kcal"]
    assert Payload.model_validate_json(inferring.model_dump_json()) == inferring
    strict = Payload.model_validate({"json": {**INFERRING, "on_unknown": "fail"}})
    assert strict.json_.on_unknown is OnUnknown.FAIL
    assert strict.json_.rescues
    assert Payload.model_validate({"json": {"infer": True}}).json_.columns == ()


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({}, "schema is missing\ngive the columns, or `infer: true`"),
        ({"subject": "s", "schema": "a int"}, "give `subject`, `schema` or `infer: true`"),
        ({"subject": "s", "infer": True}, "give `subject`, `schema` or `infer: true`"),
        ({"subject": "s", "on_unknown": "add_columns"}, "on_unknown adds none"),
        ({"schema": "a int", "infer": True}, "give `schema` or `infer: true`"),
        ({"schema": "a int", "hints": "b int"}, "`hints` go with `infer: true`"),
        ({"infer": "true"}, "Input should be a valid boolean"),
        ({"infer": 1}, "Input should be a valid boolean"),
        ({"infer": True, "hints": "a itn"}, "at 'itn' there should be a type"),
        ({"infer": True, "hints": "_topic int"}, "_topic is a column that silver has already"),
    ],
)
def test_a_feed_has_one_way_to_columns(declared, problem):
    with pytest.raises(ValidationError, match=problem):
        Payload.model_validate({"json": declared})


def test_csv_is_a_format_with_marks_of_its_own():
    payload = Payload.model_validate({"csv": {"schema": "a int, b decimal(5,2)"}})
    assert (payload.format, payload.needs_registry, payload.grows) == ("csv", False, False)
    assert [column.name for column in payload.declared_columns] == ["a", "b"]
    assert payload.csv.rescues
    assert Payload.model_validate_json(payload.model_dump_json()) == payload
    tabs = Payload.model_validate({"csv": {"schema": "a int", "delimiter": "\t", "quote": ""}})
    assert (tabs.csv.delimiter, tabs.csv.quote) == ("\t", "")


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ({"schema": ""}, "at least 1 character"),
        ({"schema": "a array<int>"}, "a is of a type that text of CSV has no form of"),
        ({"schema": "a binary"}, "a is of a type that text of CSV has no form of"),
        ({"schema": "_record int"}, "_record is a column that silver has already"),
        ({"schema": "a int", "delimiter": ""}, "delimiter is one character, not ''"),
        ({"schema": "a int", "delimiter": "||"}, "delimiter is one character"),
        ({"schema": "a int", "delimiter": "§"}, "'§' is not ASCII"),
        ({"schema": "a int", "quote": "«"}, "'«' is not ASCII"),
        ({"schema": "a int", "escape": "é"}, "'é' is not ASCII"),
        ({"schema": "a int", "delimiter": "\n"}, "delimiter cannot be the end of a line"),
        ({"schema": "a int", "quote": ","}, "delimiter, quote and escape are different"),
        ({"schema": "a int", "escape": '"'}, "delimiter, quote and escape are different"),
        ({"schema": "a int", "null_value": "a,b"}, "null_value has none of the characters"),
        ({"schema": "a int", "header": True}, "Extra inputs are not permitted"),
    ],
)
def test_what_is_wrong_with_csv_is_named(declared, problem):
    with pytest.raises(ValidationError, match=re.escape(problem)):
        Payload.model_validate({"csv": declared})
