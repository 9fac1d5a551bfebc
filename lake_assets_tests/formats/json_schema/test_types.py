"""Which types a JSON Schema's values have."""

import json

import pyarrow as pa
import pytest

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.json.values import ANY_VALUE
from lake_assets.formats.json_schema.documents import compile_documents, parse
from lake_assets.formats.json_schema.types import type_of

AT, DAY = pa.timestamp("us", tz="UTC"), pa.date32()


def kind(schema, **imports):
    texts = {name.replace("_json", ".json"): json.dumps(one) for name, one in imports.items()}
    return type_of(parse(compile_documents("a test", json.dumps(schema), texts)))


def items(one):
    return pa.list_(pa.field("item", one))


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
OBJECT = {"properties": {"a": TEXT}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (TEXT, pa.string()),
        ({"type": "string", "format": "date-time"}, AT),
        ({"type": "string", "format": "date"}, DAY),
        ({"type": "string", "format": "uuid"}, pa.string()),
        ({"type": "string", "contentEncoding": "base64"}, pa.binary()),
        (NUMBER, pa.int64()),
        ({"type": "number"}, pa.float64()),
        ({"type": ["null", "boolean"]}, pa.bool_()),
        ({"type": ["integer", "number", "null"]}, pa.float64()),
        ({"type": ["integer", "string"]}, ANY_VALUE),
        ({"type": "null"}, None),
        ({"oneOf": [{"type": "null"}, TEXT]}, pa.string()),
        ({"anyOf": [NUMBER, {"type": "number"}]}, pa.float64()),
        ({"anyOf": [TEXT, {"type": "string", "format": "date"}]}, pa.string()),
        ({"anyOf": [NUMBER, TEXT]}, ANY_VALUE),
        ({"anyOf": [True, TEXT]}, ANY_VALUE),
        ({"anyOf": [False, TEXT]}, pa.string()),
        ({"allOf": [TEXT, {"minLength": 3}]}, pa.string()),
        ({"allOf": [{"type": "number"}, NUMBER]}, pa.int64()),
        ({"allOf": [TEXT, {"type": "string", "format": "date-time"}]}, AT),
        ({"enum": ["a", "b", None]}, pa.string()),
        ({"enum": [1, 2.5]}, pa.float64()),
        ({"enum": ["a", 1]}, ANY_VALUE),
        ({"enum": [[1]]}, ANY_VALUE),
        ({"const": True}, pa.bool_()),
        ({"type": "integer", "enum": [1, 2]}, pa.int64()),
        ({"type": "array", "items": NUMBER}, items(pa.int64())),
        ({"items": {"type": "array", "items": TEXT}}, items(items(pa.string()))),
        ({"type": "array"}, ANY_VALUE),
        ({"type": "array", "items": [NUMBER, TEXT]}, ANY_VALUE),
        ({"type": "array", "prefixItems": [NUMBER], "items": TEXT}, ANY_VALUE),
        (OBJECT, pa.struct([("a", pa.string())])),
        ({"type": "object"}, ANY_VALUE),
        ({"type": "object", "additionalProperties": NUMBER}, pa.map_(pa.string(), pa.int64())),
        ({"type": "object", "additionalProperties": True}, ANY_VALUE),
        (
            {"patternProperties": {"^a": NUMBER, "^b": {"type": "number"}}},
            pa.map_(pa.string(), pa.float64()),
        ),
        (OBJECT | {"additionalProperties": NUMBER}, pa.struct([("a", pa.string())])),
        (
            {"oneOf": [OBJECT, {"properties": {"a": NUMBER, "b": TEXT}}]},
            pa.struct([("a", ANY_VALUE), ("b", pa.string())]),
        ),
        (
            {"allOf": [OBJECT, {"properties": {"a": {"format": "date"}, "b": NUMBER}}]},
            pa.struct([("a", pa.string()), ("b", pa.int64())]),
        ),
        ({"properties": {"a b": TEXT, "A": TEXT, "a": NUMBER}}, pa.struct([("A", pa.string())])),
        (True, ANY_VALUE),
        ({}, ANY_VALUE),
        (False, None),
    ],
)
def test_a_schema_is_of_a_type(schema, expected):
    assert kind(schema) == expected


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 7},
        {"type": "strnig"},
        {"properties": [1]},
        {"items": 7},
        {"$ref": 7},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.com/nowhere.json"},
        {"$ref": "#"},
        {"enum": "abc"},
        {"anyOf": {"a": 1}, "allOf": 7},
        {"type": "object", "additionalProperties": []},
    ],
)
def test_what_cannot_be_read_is_text(schema):
    assert kind({"properties": {"x": schema, "y": {"items": schema}}}) == pa.struct(
        [("x", ANY_VALUE), ("y", items(ANY_VALUE))]
    )


ADDRESS = {"$id": "http://e.com/address.json", "properties": {"zip": {"$ref": "#/$defs/zip"}},
           "$defs": {"zip": {"$anchor": "zip", "type": "string"}}}  # fmt: skip
ZIP = pa.struct([("zip", pa.string())])


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("#/definitions/zip", pa.string()),
        ("#/definitions/a~1b%20c", pa.int64()),
        ("#/definitions/some/oneOf/1", pa.int64()),
        ("address.json", ZIP),
        ("http://e.com/address.json", ZIP),
        ("address.json#/$defs/zip", pa.string()),
        ("address.json#zip", pa.string()),
        ("other.json", pa.struct([("at", ZIP)])),
    ],
)
def test_a_reference_is_followed(ref, expected):
    schema = {
        "$id": "http://e.com/order.json",
        "properties": {"x": {"$ref": ref}},
        "definitions": {
            "zip": TEXT,
            "a/b c": NUMBER,
            "some": {"oneOf": [TEXT, NUMBER]},
        },
    }
    other = {"properties": {"at": {"$ref": "address.json"}}}
    found = kind(schema, address_json=ADDRESS, other_json=other)
    assert found.field("x").type == expected


def test_what_is_in_itself_is_text_from_there_on():
    node = {"properties": {"name": TEXT, "next": {"$ref": "#"}}}
    assert kind(node) == pa.struct([("name", pa.string()), ("next", ANY_VALUE)])


def test_a_document_that_grows_without_end_is_refused():
    pairs = {f"d{n}": {"properties": {k: {"$ref": f"#/$defs/d{n + 1}"} for k in "ab"}}
             for n in range(30)}  # fmt: skip
    with pytest.raises(SchemaUnusableError, match="more than 20000 schemas"):
        kind({"$ref": "#/$defs/d0", "$defs": {**pairs, "d30": TEXT}})


@pytest.mark.parametrize("text", ["{", "[]", '"a"', "[" * 100_000])
def test_what_is_no_document_is_refused(text):
    with pytest.raises(SchemaUnusableError, match=r"is no JSON"):
        compile_documents("version 1", text, {})
