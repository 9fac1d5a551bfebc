"""Random Avro schemas, what they become some time later, and values of them."""

import string
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

Schema = Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

TIMES = st.integers(-(2**50), 2**50).map(lambda us: EPOCH + timedelta(microseconds=us))

PRIMITIVES = {
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "bytes": st.binary(max_size=20),
    "string": st.text(max_size=20),
}

LOGICAL: dict[tuple[str, str], st.SearchStrategy[Any]] = {
    ("int", "date"): st.dates(),
    ("int", "time-millis"): st.integers(0, 86_399_999).map(
        lambda ms: (EPOCH + timedelta(milliseconds=ms)).time()
    ),
    ("long", "time-micros"): st.times(),
    ("long", "timestamp-millis"): TIMES.map(
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
    ("long", "timestamp-micros"): TIMES,
}
"""The logical types that Apache's reader has, but decimals."""

WIDER = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
}
"""What the specification promotes, save `bytes` and `string`, which Apache's reader leaves apart;
these are in `test_decoding_plan`, as are items that change, which it takes for other arrays."""


TIMED = (
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "int", "logicalType": "date"},
)
TIMES_OF = {str(one["type"]): (one,) for one in TIMED}
"""What a number may be said to be later, or be said no more; `was` marks one that was a time, so
that it gets values that are."""


@dataclass
class Names:
    """Names that a case has not had yet."""

    count: int = 0

    def next(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"


def a_type(draw: st.DrawFn, names: Names, depth: int) -> Schema:  # noqa: C901, PLR0911
    """Any type but null; nested ones down to a depth."""
    simple = ["primitive", "logical", "decimal", "enum", "fixed"]
    nested = ["array", "map", "record", "nullable", "union"]
    match draw(st.sampled_from(simple + (nested if depth else []))):
        case "primitive":
            return draw(st.sampled_from(sorted(PRIMITIVES)))
        case "logical":
            base, logical = draw(st.sampled_from(sorted(LOGICAL)))
            return {"type": base, "logicalType": logical}
        case "decimal":
            precision = draw(st.integers(1, 38))
            scale = draw(st.integers(0, precision))
            own = {"logicalType": "decimal", "precision": precision, "scale": scale}
            if draw(st.booleans()):
                return {"type": "bytes", **own}
            return {"type": "fixed", "name": names.next("D"), "size": 16, **own}
        case "enum":
            count = draw(st.integers(1, 4))
            symbols = list(string.ascii_uppercase[:count])
            return {"type": "enum", "name": names.next("E"), "symbols": symbols}
        case "fixed":
            return {"type": "fixed", "name": names.next("F"), "size": draw(st.integers(1, 20))}
        case "array":
            return {"type": "array", "items": a_type(draw, names, depth - 1)}
        case "map":
            return {"type": "map", "values": a_type(draw, names, depth - 1)}
        case "record":
            return a_record(draw, names, depth - 1)
        case "nullable":
            inner = a_type(draw, names, 0)
            return draw(st.sampled_from([["null", inner], [inner, "null"]]))
    return draw(st.permutations(["null", "string", "long", {"type": "array", "items": "int"}]))


def a_record(draw: st.DrawFn, names: Names, depth: int) -> Schema:
    """A record of a few fields."""
    fields = [
        {"name": names.next("f"), "type": a_type(draw, names, depth)}
        for _ in range(draw(st.integers(1, 4)))
    ]
    return {"type": "record", "name": names.next("R"), "fields": fields}


def a_value(draw: st.DrawFn, schema: Schema) -> Any:  # noqa: C901, PLR0911
    """A value that Apache's writer takes."""
    if isinstance(schema, list):
        return a_value(draw, draw(st.sampled_from(schema)))
    if isinstance(schema, str):
        return None if schema == "null" else draw(PRIMITIVES[schema])
    kind, logical = schema["type"], schema.get("logicalType")
    if kind in PRIMITIVES and logical is None:
        return draw(st.integers(0, 20_000))
    if logical == "decimal":
        size = 10 ** schema["precision"] - 1
        unscaled = draw(st.integers(-size, size))
        return Decimal((int(unscaled < 0), _digits(unscaled), -schema["scale"]))
    if logical is not None:
        return draw(LOGICAL[kind, logical])
    match kind:
        case "enum":
            return draw(st.sampled_from(schema["symbols"]))
        case "fixed":
            return draw(st.binary(min_size=schema["size"], max_size=schema["size"]))
        case "array":
            return [a_value(draw, schema["items"]) for _ in range(draw(st.integers(0, 3)))]
        case "map":
            keys = draw(st.sets(st.text(max_size=3), max_size=3))
            return {key: a_value(draw, schema["values"]) for key in sorted(keys)}
    return {one["name"]: a_value(draw, one["type"]) for one in schema["fields"]}


def _digits(number: int) -> tuple[int, ...]:
    return tuple(int(digit) for digit in str(abs(number)))


def later(draw: st.DrawFn, names: Names, schema: Schema, *, is_deep: bool = True) -> Schema:
    """What a type becomes some time later, so that its older values can still be read."""
    if isinstance(schema, str):
        choices = [schema, *WIDER.get(schema, ()), *TIMES_OF.get(schema, ())]
        made = draw(st.sampled_from(choices))
        return ["null", made] if is_deep and draw(st.booleans()) else made
    if isinstance(schema, list):
        return schema
    if "logicalType" in schema:
        said = {"type": schema["type"], "logicalType": schema["logicalType"]}
        return (
            {"type": said["type"], "was": "a time"}
            if said in TIMED and draw(st.booleans())
            else schema
        )
    match schema["type"]:
        case "enum":
            return {**schema, "symbols": [*schema["symbols"], "Z"]}
        case "record":
            return later_record(draw, names, schema)
    return schema


def with_others(draw: st.DrawFn, kind: Schema) -> Schema:
    """A type among several, none of which Apache's writer takes for it."""
    own = next(one for one in kind if one != "null") if isinstance(kind, list) else kind
    name = own if isinstance(own, str) else own["type"]
    texts, lists = ["string"], [{"type": "array", "items": "int"}]
    others = [*(texts * (name not in {"string", "enum"})), *(lists * (name != "array"))]
    return draw(st.permutations(["null", own, *others]))


def _may_be_several(old: Schema, new: Schema) -> bool:
    """Whether a column is of one type and stays so: fractions among several are not integers."""
    branches = [one for one in (new if isinstance(new, list) else [new]) if one != "null"]
    is_single = len(branches) == 1 and not isinstance(old, list)
    return is_single and not (old in ("int", "long") and branches[0] in ("float", "double"))


def later_record(draw: st.DrawFn, names: Names, schema: Schema) -> Schema:
    """Fields kept, changed, renamed, removed, added, in another order."""
    fields = []
    for one in schema["fields"]:
        kind = later(draw, names, one["type"])
        if _may_be_several(one["type"], kind) and draw(st.integers(0, 3)) == 0:
            kind = with_others(draw, kind)
        match draw(st.sampled_from(["keep", "keep", "rename", "remove"])):
            case "keep":
                fields.append({"name": one["name"], "type": kind})
            case "rename":
                fields.append({"name": names.next("g"), "type": kind, "aliases": [one["name"]]})
    kind = draw(st.sampled_from(sorted(DEFAULTS)))
    added = {"name": names.next("h"), "type": kind, "default": DEFAULTS[kind][0]}
    return {**schema, "fields": draw(st.permutations([*fields, added]))}


DEFAULTS: dict[str, tuple[Any, Any]] = {
    "int": (7, 7),
    "double": (0.5, 0.5),
    "string": ("x", "x"),
    "boolean": (True, True),
}


@dataclass(frozen=True)
class Case:
    old: Schema
    new: Schema
    old_values: list[Any]
    new_values: list[Any]


@st.composite
def a_case(draw: st.DrawFn) -> Case:
    names = Names()
    old = a_record(draw, names, 2)
    new = later_record(draw, names, old)
    count = draw(st.integers(1, 4))
    return Case(
        old=old,
        new=new,
        old_values=[a_value(draw, old) for _ in range(count)],
        new_values=[a_value(draw, new) for _ in range(count)],
    )


def renamed(old: Schema, new: Schema) -> Schema:
    """The writer's schema with the reader's names for aliases, as the specification says.

    Apache's reader for Python leaves that out.
    """
    if isinstance(new, list) and not isinstance(old, list):
        return renamed(old, next((one for one in new if _sort(one) == _sort(old)), old))
    if isinstance(old, str | list):
        return old
    match old["type"]:
        case "array":
            return {**old, "items": renamed(old["items"], new["items"])}
        case "map":
            return {**old, "values": renamed(old["values"], new["values"])}
        case "record":
            return {**old, "fields": [_renamed(one, new["fields"]) for one in old["fields"]]}
    return old


def _sort(schema: Schema) -> str:
    return str(schema["type"] if isinstance(schema, dict) else schema)


def _renamed(field: dict[str, Any], others: list[dict[str, Any]]) -> dict[str, Any]:
    for one in others:
        if field["name"] in (one["name"], *one.get("aliases", ())):
            return {"name": one["name"], "type": renamed(field["type"], one["type"])}
    return field


def micros(value: Any) -> Any:
    """Times of day as the numbers that columns have, uuids as texts."""
    if isinstance(value, time):
        moment = datetime.combine(date.min, value) - datetime.combine(date.min, time())
        return moment // timedelta(microseconds=1)
    return str(value) if isinstance(value, UUID) else value
