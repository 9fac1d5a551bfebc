"""Values that `jsonschema` finds valid become columns that Python's `json` reads the same of."""

import json
from collections import ChainMap
from datetime import UTC, date, datetime
from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from lake_assets_tests.formats.json_schema.given import decode_all, framed, subject

NAMES = st.sampled_from(["a", "b", "c", "kind", "long_name"])

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)

SCALARS: dict[str, tuple[dict[str, Any], st.SearchStrategy[Any]]] = {
    "string": ({"type": "string"}, TEXTS),
    "integer": ({"type": "integer"}, st.integers(-(2**63), 2**63 - 1)),
    "number": ({"type": "number"}, st.floats(allow_nan=False, allow_infinity=False)),
    "boolean": ({"type": "boolean"}, st.booleans()),
    "date": (
        {"type": "string", "format": "date"},
        st.dates(min_value=date(1, 1, 1)).map(date.isoformat),
    ),
    "time": (
        {"type": "string", "format": "date-time"},
        st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)).map(  # noqa: DTZ001
            lambda at: at.replace(tzinfo=UTC).isoformat()
        ),
    ),
    "enum": ({"enum": ["x", "y"]}, st.sampled_from(["x", "y"])),
}


@st.composite
def pairs(draw, depth=2):
    """A schema, and a strategy of values that are valid by it."""
    ways = [*SCALARS, *(("list", "map", "object", "any") if depth else ())]
    way = draw(st.sampled_from(ways))
    if way in SCALARS:
        schema, values = SCALARS[way]
    elif way == "list":
        inner, items = draw(pairs(depth - 1))
        schema, values = {"type": "array", "items": inner}, st.lists(items, max_size=3)
    elif way == "map":
        inner, items = draw(pairs(depth - 1))
        schema = {"type": "object", "additionalProperties": inner}
        values = st.dictionaries(TEXTS, items, max_size=3)
    elif way == "any":
        schema, values = {"oneOf": [{"type": "integer"}, {"type": "string"}]}, st.integers() | TEXTS
    else:
        schema, values = draw(objects(depth - 1))
    if draw(st.booleans()):
        schema, values = draw(nullable(schema)), st.none() | values
    return schema, values


@st.composite
def nullable(draw, schema):
    """The schema or null, in one of the ways that people write it."""
    kind = schema.get("type")
    ways = [{"oneOf": [{"type": "null"}, schema]}, {"anyOf": [schema, {"type": "null"}]}]
    if isinstance(kind, str):
        ways.append(schema | {"type": [kind, "null"]})
    return draw(st.sampled_from(ways))


@st.composite
def objects(draw, depth=2):
    """The same of an object, of which any property may be left out."""
    members = draw(st.dictionaries(NAMES, pairs(depth), min_size=1, max_size=3))
    properties = {name: schema for name, (schema, _) in members.items()}
    values = st.fixed_dictionaries({}, optional={name: one for name, (_, one) in members.items()})
    whole = {"type": "object", "properties": properties}
    parts = [{"type": "object", "properties": {name: one}} for name, one in properties.items()]
    return draw(st.sampled_from([whole, {"allOf": parts}])), values


def expected(schema: Any, value: Any) -> Any:
    """What Python's `json` and the schema say of a value, as Arrow gives it back."""
    if value is None:
        return None
    branches = schema.get("oneOf") or schema.get("anyOf")
    if branches is None:
        return expected_nested(schema, value)
    (schema, *more) = [one for one in branches if one.get("type") != "null"]
    if more:
        return value if isinstance(value, str) else json.dumps(value)
    return expected(schema, value)


def expected_nested(schema: Any, value: Any) -> Any:
    """The same of a schema without alternatives."""
    parts = schema.get("allOf", [schema])
    if any("properties" in part for part in parts):
        members = ChainMap(*(part["properties"] for part in parts))
        return {name: expected(one, value.get(name)) for name, one in members.items()}
    if "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        return [(name, expected(inner, one)) for name, one in value.items()]
    if "items" in schema:
        return [expected(schema["items"], one) for one in value]
    read = {"date": date.fromisoformat, "date-time": datetime.fromisoformat}
    return read.get(schema.get("format"), lambda text: text)(value)


@given(st.data(), objects())
def test_what_is_valid_is_in_columns_as_json_says(data, pair):
    schema, values = pair
    some = data.draw(st.lists(values, min_size=1, max_size=4))
    for one in some:
        jsonschema.validate(one, schema)
    found = decode_all(subject(schema), *(framed(1, one) for one in some))
    assert found.reason.null_count == len(some)
    rows = found.columns.to_pylist()
    assert [row.pop("_rescued", None) for row in rows] == [None] * len(some)
    assert rows == [expected(schema, one) for one in some]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(NAMES, ANYTHING), objects())
def test_of_what_is_not_valid_nothing_is_lost(value, pair):
    """Each property is in its column, or in `_rescued` as it came, or partly in both."""
    schema, _ = pair
    found = decode_all(subject(schema), framed(1, value))
    (row,) = found.columns.to_pylist()
    rescued = json.loads(row.pop("_rescued") or "{}")
    for name, one in value.items():
        assert one is None or name in rescued or row[name] is not None
