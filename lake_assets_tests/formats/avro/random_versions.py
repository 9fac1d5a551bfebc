"""Random histories of one field: versions of any types, and values with the bytes that they are."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

import fastavro
from hypothesis import strategies as st

from lake_assets_tests.formats.avro.given import record
from lake_assets_tests.formats.avro.random_schemas import EPOCH, Schema

Leaf: TypeAlias = frozenset[tuple[type, Any]]
"""A value without others in it, in each of the ways in which a column may have it."""

NUMBERS: tuple[Schema, ...] = (
    "int",
    "long",
    "float",
    "double",
    {"type": "int", "logicalType": "date"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "time-micros"},
)
TEXTS: tuple[Schema, ...] = (
    "string",
    "bytes",
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 4},
    {"type": "enum", "name": "E", "symbols": ["A", "B"]},
    {"type": "fixed", "name": "F", "size": 2},
)
RECORDS: tuple[Schema, ...] = (
    {"type": "record", "name": "R", "fields": [{"name": "x", "type": "int"}]},
    {"type": "record", "name": "S", "fields": [{"name": "y", "type": "string"}]},
)
OTHERS: tuple[Schema, ...] = ("boolean", {"type": "array", "items": "int"})

SHAPES: tuple[Callable[[Schema], Schema], ...] = (
    lambda kind: kind,
    lambda kind: {"type": "array", "items": kind},
    lambda kind: {"type": "map", "values": kind},
    lambda kind: {"type": "array", "items": {"type": "array", "items": kind}},
    lambda kind: ["null", {"type": "array", "items": kind}],
    lambda kind: record(("b", kind), name="Outer"),
    lambda kind: ["null", "boolean", {"type": "array", "items": kind}],
)
"""Where the type stands that changes."""


@dataclass(frozen=True)
class Written:
    """A value of a version."""

    data: bytes
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True)
class History:
    """Versions in the order of age, and of each some values."""

    schemas: list[Schema]
    values: list[list[Written]]


@st.composite
def a_history(draw: st.DrawFn) -> History:
    """Two to four versions of a record of one field, each of which Avro can read as another."""
    pool = draw(st.sampled_from([NUMBERS, TEXTS, RECORDS]))
    shape = draw(st.sampled_from(SHAPES))
    kinds = [shape(_kind(draw, pool)) for _ in range(draw(st.integers(2, 4)))]
    values = [[_written(draw, kind) for _ in range(2)] for kind in kinds]
    return History([record(("a", kind)) for kind in kinds], values)


def _kind(draw: st.DrawFn, pool: tuple[Schema, ...]) -> Schema:
    match draw(st.sampled_from(["one", "one", "nullable", "several", "several"])):
        case "one":
            return draw(st.sampled_from(pool))
        case "nullable":
            return ["null", draw(st.sampled_from(pool))]
    own = draw(st.lists(st.sampled_from(pool), max_size=2, unique_by=_sort))
    others = st.sampled_from([*NUMBERS, *TEXTS, *RECORDS, *OTHERS])
    more = draw(st.lists(others, min_size=2, max_size=3, unique_by=_sort))
    taken = {_sort(one) for one in own}
    kinds = [*own, *(one for one in more if _sort(one) not in taken)]
    if {*map(_sort, kinds)} in ({"int", "long"}, {"float", "double"}):
        kinds.append("boolean")  # numbers alone are no several types
    return draw(st.permutations(["null", *kinds]))


def _sort(schema: Schema) -> str:
    """What a union may have once."""
    if isinstance(schema, str):
        return schema
    return str(schema.get("name", schema["type"]))


def _written(draw: st.DrawFn, kind: Schema) -> Written:
    if isinstance(kind, list):
        at = draw(st.integers(0, len(kind) - 1))
        inner = _written(draw, kind[at])
        return Written(_datum("long", at) + inner.data, inner.leaves)
    name = kind if isinstance(kind, str) else kind["type"]
    if name == "record":
        fields = [_written(draw, one["type"]) for one in kind["fields"]]
        return _joined(fields)
    if name in {"array", "map"}:
        items = [
            _written(draw, kind["items" if name == "array" else "values"])
            for _ in range(draw(st.integers(0, 3)))
        ]
        keys = [_datum("string", f"k{at}") if name == "map" else b"" for at in range(len(items))]
        pairs = zip(keys, items, strict=True)
        joined = _joined([Written(key + one.data, one.leaves) for key, one in pairs])
        count = _datum("long", len(items)) if items else b""
        return Written(count + joined.data + b"\0", joined.leaves)
    if name == "null":
        return Written(b"", ())
    value = draw(_VALUES[name])
    is_named = isinstance(kind, dict) and "name" in kind
    data = _datum(kind if is_named else name, value)
    ways = frozenset((type(one), one) for one in _readings(value))
    return Written(data, (ways,))


def _joined(parts: list[Written]) -> Written:
    leaves = tuple(leaf for one in parts for leaf in one.leaves)
    return Written(b"".join(one.data for one in parts), leaves)


def _datum(schema: Schema, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema, {}), value)
    return out.getvalue()


_WHOLE = st.integers(0, 2_000_000)
"""Days, milliseconds and microseconds alike."""

_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "int": _WHOLE,
    "long": _WHOLE,
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": st.text(max_size=5),
    "bytes": st.binary(min_size=1, max_size=3),
    "enum": st.sampled_from("AB"),
    "fixed": st.binary(min_size=2, max_size=2),
}


def _readings(value: Any) -> list[Any]:
    """A value as it is, and as what other versions may say that it is."""
    if isinstance(value, int) and not isinstance(value, bool):
        micros = timedelta(microseconds=value)
        times = [EPOCH + 1000 * micros, EPOCH + micros]
        days = date(1970, 1, 1) + timedelta(days=value)
        return [value, float(value), days, *times]
    if isinstance(value, str):
        return [value, value.encode()]
    if isinstance(value, bytes):
        number = int.from_bytes(value, "big", signed=True)
        return [value, *(Decimal(number).scaleb(-scale) for scale in (2, 4))]
    return [value]


def leaves_of(value: Any) -> list[Any]:
    """The values in a row, at any depth; keys of maps are none."""
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves_of(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in leaves_of(one)]
    if isinstance(value, tuple):
        return leaves_of(value[1])
    return [] if value is None else [value]
