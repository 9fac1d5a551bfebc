import json

import pytest

from lake_assets.formats.avro.defaults import encode
from lake_assets.formats.avro.schema import Type, parse
from lake_assets_tests.formats.avro.given import datum, record, versions

K = {"type": "enum", "name": "K", "symbols": ["A", "B"]}
INNER = record({"name": "y", "type": "int", "default": 4}, ("x", "long"), name="I")


@pytest.mark.parametrize(
    ("kind", "default", "value"),
    [
        ("null", None, None),
        ("boolean", True, True),
        ("long", -(2**63), -(2**63)),
        ("int", 300, 300),
        ("float", 1, 1.0),
        ("double", 0.5, 0.5),
        ("string", "ü", "ü"),
        ("bytes", "\xff", b"\xff"),
        ({"type": "fixed", "name": "F", "size": 2}, "ab", b"ab"),
        (K, "B", "B"),
        (["null", "int"], 5, 5),
        (["string", "null"], None, None),
        ({"type": "array", "items": "int"}, [1, 2], [1, 2]),
        ({"type": "array", "items": "int"}, [], []),
        ({"type": "map", "values": "int"}, {"a": 1}, {"a": 1}),
        (INNER, {"x": 1}, {"x": 1, "y": 4}),
    ],
)
def test_a_default_is_what_apache_would_write(kind, default, value):
    (version,) = versions(record(("a", kind))).values()
    (field,) = parse(version.descriptor_set).fields
    assert encode(field.type, json.dumps(default)) == datum(kind, value)


@pytest.mark.parametrize(
    ("kind", "default"),
    [("int", '"x"'), ("int", str(2**31)), ("string", "1"), ("array", "{}"), ("map", "[]")],
)
def test_what_is_no_value_of_the_type_is_refused(kind, default):
    with pytest.raises(ValueError, match=f"is no {kind}"):
        encode(Type(kind=kind, inner=(Type(kind="int"),)), default)
