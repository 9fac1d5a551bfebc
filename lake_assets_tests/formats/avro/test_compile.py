import json

import pytest

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.avro.compile import compile_schema
from lake_assets.formats.avro.schema import parse
from lake_assets_tests.formats.avro.given import record

PLACE = {"type": "record", "namespace": "geo", "name": "Place", "fields": [
    {"name": "x", "type": "double"}]}  # fmt: skip


def problem_of(schema, **imports):
    with pytest.raises(SchemaUnusableError) as caught:
        compile_schema("it", json.dumps(schema), imports)
    assert caught.value.thing == "it"
    return caught.value.fact


def test_references_are_inlined_wherever_they_are_used():
    route = record(("a", "geo.Place"), ("b", ["null", "geo.Place"]), name="geo.Route")
    text = record(("r", "geo.Route"), ("p", "geo.Place"))
    imports = {"geo.Place": json.dumps(PLACE), "geo.Route": json.dumps(route)}
    found = parse(compile_schema("it", json.dumps(text), imports))
    outer, place = (one.type for one in found.fields)
    assert outer.fields[0].type == place == outer.fields[1].type.branches[0]
    assert [one.name for one in place.fields] == ["x"]


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ("string", "is of type string and not a record, so it names no columns"),
        ({"type": "array", "items": "int"}, "is of type array and not a record"),
        (5, "is no valid Avro (TypeError"),
        (None, "is no valid Avro (TypeError"),
        ({"type": "foo"}, "is no valid Avro (UnknownType"),
        (record(("a", "geo.Nowhere")), "is no valid Avro (UnknownType"),
        (record(("a", "int"), ("a", "int")), "has in record event a field a twice"),
        (record(("a", "int"), ("A", "int")), "has in record event a field A beside a, by case"),
        (record(("a", ["int", "int"])), "has at a a union with a type twice"),
        (record(("a", [])), "has at a a union without types, or of unions"),
        (record(("a", ["int", ["null"]])), "has at a a union without types, or of unions"),
        (record(("a", {"type": "fixed", "name": "F", "size": -1})), "a fixed type of -1 bytes"),
        (
            record(("a", record(("next", ["null", "N"]), name="N"))),
            "has at a.next a record N that contains itself",
        ),
        (record({"name": "a", "type": "int", "default": "x"}), "is no valid Avro (SchemaParse"),
        (record({"name": "a", "type": "int", "default": 2**40}), "is no valid Avro ("),
        (
            record({"name": "a", "type": record(("x", "int"), name="I"), "default": {}}),
            "is no valid Avro (",
        ),
        (
            record(("a", {"type": "bytes", "logicalType": "decimal", "precision": 39})),
            "has at a a decimal of 39 digits; columns have 38 at most",
        ),
    ],
)
def test_what_makes_no_columns_is_refused_with_the_place(schema, problem):
    assert problem in problem_of(schema)


def test_text_that_is_no_json_is_refused():
    with pytest.raises(SchemaUnusableError, match="is no valid Avro"):
        compile_schema("it", "{", {})


def test_types_that_double_and_double_take_no_memory():
    texts = {"T0": json.dumps(record(("a", "int"), name="T0"))}
    for level in range(1, 40):
        pair = [(name, f"T{level - 1}") for name in ("a", "b")]
        texts[f"T{level}"] = json.dumps(record(*pair, name=f"T{level}"))
    assert "has more than 5000 types" in problem_of(record(("a", "T39")), **texts)


def test_a_schema_that_is_nested_without_end_is_refused():
    text = '{"type": "array", "items": ' * 5_000 + '"int"' + "}" * 5_000
    with pytest.raises(SchemaUnusableError, match="is nested too deeply"):
        compile_schema("it", text, {})
