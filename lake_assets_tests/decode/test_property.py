"""Random schemas, evolutions and messages, compared with what google.protobuf reads."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lake_assets.decode.schemas import SchemaSet
from lake_assets.decode.settle import settle
from lake_assets_tests.decode.given import NOTHING, framed, message_of, rows_of, schemas

IMPORTS = "".join(
    f'import "google/protobuf/{name}.proto"; ' for name in ("timestamp", "duration", "wrappers")
)

SCALARS = {
    "int32": st.integers(-(2**31), 2**31 - 1),
    "sint32": st.integers(-(2**31), 2**31 - 1),
    "sfixed32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "sint64": st.integers(-(2**63), 2**63 - 1),
    "sfixed64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "fixed32": st.integers(0, 2**32 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "fixed64": st.integers(0, 2**64 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "string": st.text(max_size=5),
    "bytes": st.binary(max_size=5),
}

WRAPPERS = {
    f"google.protobuf.{name}Value": SCALARS[kind]
    for name, kind in (
        ("Int32", "int32"),
        ("Int64", "int64"),
        ("UInt32", "uint32"),
        ("UInt64", "uint64"),
        ("Float", "float"),
        ("Double", "double"),
        ("Bool", "bool"),
        ("String", "string"),
        ("Bytes", "bytes"),
    )
}

TIMESTAMP, DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"

SECONDS = {
    TIMESTAMP: st.integers(-62_135_596_800, 253_402_300_799),
    DURATION: st.integers(-315_576_000_000, 315_576_000_000),
}

ENUM = {0: "NONE", 1: "SOME", 2: "ALL"}

WIDER = {
    "int32": ["int64", "sint32", "uint32"],
    "uint32": ["uint64", "fixed32"],
    "sint32": ["sfixed64"],
    "float": ["double"],
    "int64": ["uint64", "sint64"],
}
"""Changes of type whose columns go together; those on the wire need not."""

KINDS = [*SCALARS, *WRAPPERS, TIMESTAMP, DURATION, "enum", "nested"]

KEYS = ("int32", "int64", "uint32", "uint64", "bool", "string")


@dataclass(frozen=True)
class Field:
    number: int
    name: str
    kind: str
    label: str = ""
    """optional, repeated, oneof, or the type of a map's keys."""
    nested: tuple["Field", ...] = ()

    def text(self, scope: str) -> str:
        kind = {"enum": "E", "nested": f"{scope}{self.number}"}.get(self.kind, self.kind)
        named = f"{self.name} = {self.number};"
        if self.label in KEYS:
            return f"map<{self.label}, {kind}> {named}"
        if self.label == "oneof":
            other = f"bool o_{self.number} = {self.number + 50};"
            return f"oneof o{self.number} {{ {kind} {named} {other} }}"
        return f"{self.label} {kind} {named}"


def body_of(fields: tuple[Field, ...], name: str = "event") -> str:
    """The .proto text of a message and the messages in it."""
    own = " ".join(one.text(f"{name}_") for one in fields)
    nested = " ".join(body_of(one.nested, f"{name}_{one.number}") for one in fields if one.nested)
    return f"message {name} {{ {own} }} {nested}"


def text_of(fields: tuple[Field, ...]) -> str:
    enum = " ".join(f"{name} = {number};" for number, name in ENUM.items())
    return f"{IMPORTS} {body_of(fields)} enum E {{ {enum} }}"


@st.composite
def a_field(draw: st.DrawFn, number: int, depth: int) -> Field:
    kind = draw(st.sampled_from(KINDS if depth else KINDS[:-1]))
    label = draw(st.sampled_from(["", "", "optional", "repeated", "oneof", *KEYS[:1], *KEYS[-1:]]))
    nested = draw(some_fields(depth - 1)) if kind == "nested" else ()
    return Field(number, f"f{number}", kind, label, nested)


@st.composite
def some_fields(draw: st.DrawFn, depth: int = 2, start: int = 1) -> tuple[Field, ...]:
    count = draw(st.integers(1, 4))
    return tuple(draw(a_field(number, depth)) for number in range(start, start + count))


@st.composite
def evolved(draw: st.DrawFn, fields: tuple[Field, ...], depth: int = 2) -> tuple[Field, ...]:
    """The same message some time later; one field at least stays."""
    later = []
    for index, one in enumerate(fields):
        change = draw(st.sampled_from(["keep", "keep", "rename", "remove", "widen", "gain"]))
        if change == "rename":
            later.append(replace(one, name=f"g{one.number}"))
        elif change == "widen" and one.kind in WIDER and one.label not in KEYS:
            later.append(replace(one, kind=draw(st.sampled_from(WIDER[one.kind]))))
        elif change == "gain" and one.nested:
            later.append(replace(one, nested=draw(evolved(one.nested, depth - 1))))
        elif change != "remove" or index == 0:
            later.append(one)
    added = draw(some_fields(depth, start=20)) if draw(st.booleans()) else ()
    return (*later, *added)


@st.composite
def a_value(draw: st.DrawFn, one: Field) -> Any:
    if one.kind in SCALARS:
        return draw(SCALARS[one.kind])
    if one.kind in WRAPPERS:
        return {"value": draw(WRAPPERS[one.kind])}
    if one.kind in SECONDS:
        seconds = draw(SECONDS[one.kind])
        micros = draw(st.integers(0, 999_999)) if one.kind == TIMESTAMP else 0
        return {"seconds": seconds, "nanos": micros * 1000}
    if one.kind == "enum":
        return draw(st.sampled_from([*ENUM, 17]))
    return draw(some_values(one.nested))


@st.composite
def some_values(draw: st.DrawFn, fields: tuple[Field, ...]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for one in fields:
        if draw(st.booleans()):
            continue
        if one.label == "repeated":
            values[one.name] = draw(st.lists(a_value(one), max_size=3))
        elif one.label in KEYS:
            keys = SCALARS[one.label]
            values[one.name] = draw(st.dictionaries(keys, a_value(one), max_size=3))
        else:
            values[one.name] = draw(a_value(one))
    return values


@dataclass(frozen=True)
class Case:
    old: tuple[Field, ...]
    new: tuple[Field, ...]
    old_values: list[dict[str, Any]] = field(default_factory=list)
    new_values: list[dict[str, Any]] = field(default_factory=list)


@st.composite
def a_case(draw: st.DrawFn) -> Case:
    old = draw(some_fields())
    new = draw(evolved(old))
    some = st.lists
    old_values = draw(some(some_values(old), min_size=1, max_size=4))
    new_values = draw(some(some_values(new), min_size=1, max_size=4))
    return Case(old, new, old_values, new_values)


def fill(message: Message, values: dict[str, Any]) -> Message:
    """`values` set in a message; google.protobuf's constructors do not take maps of messages."""
    for name, value in values.items():
        target = getattr(message, name)
        about = message.DESCRIPTOR.fields_by_name[name]
        if is_map(about):
            fill_map(target, value)
        elif about.is_repeated:
            fill_list(target, value)
        elif isinstance(value, dict):
            target.SetInParent()
            fill(target, value)
        else:
            setattr(message, name, value)
    return message


def fill_map(target: Any, values: dict[Any, Any]) -> None:
    for key, one in values.items():
        if isinstance(one, dict):
            fill(target[key], one)
        else:
            target[key] = one


def fill_list(target: Any, values: list[Any]) -> None:
    for one in values:
        if isinstance(one, dict):
            fill(target.add(), one)
        else:
            target.append(one)


def is_map(about: FieldDescriptor) -> bool:
    return about.message_type is not None and about.message_type.GetOptions().map_entry


def expected(message: Message, names: Descriptor | None, kind: Any) -> dict[str, Any] | None:
    """A row of columns `kind`, of what google.protobuf says about a message.

    Names are those that the fields of the same numbers have in `names`.
    """
    row = dict.fromkeys((one.name for one in kind), None)
    for about in message.DESCRIPTOR.fields:
        twin = names.fields_by_number.get(about.number) if names is not None else None
        name = twin.name if twin is not None else about.name
        type_ = next(one.type for one in kind if one.name == name)
        within = twin.message_type if twin is not None else None
        if about.has_presence and not message.HasField(about.name):
            continue
        value = getattr(message, about.name)
        if is_map(about):
            item = about.message_type.fields_by_name["value"]
            within = within.fields_by_name["value"].message_type if within is not None else None
            found = {
                key: one_value(item, one, within, type_.item_type) for key, one in value.items()
            }
            row[name] = sorted(found.items(), key=repr)
        elif about.is_repeated:
            row[name] = [one_value(about, one, within, type_.value_type) for one in value]
        else:
            row[name] = one_value(about, value, within, type_)
    return row


def one_value(about: FieldDescriptor, value: Any, names: Descriptor | None, kind: Any) -> Any:
    if about.enum_type is not None:
        return ENUM.get(value, str(value))
    if about.message_type is None:
        return value
    full_name = about.message_type.full_name
    if full_name == TIMESTAMP:
        since = timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
        return datetime(1970, 1, 1, tzinfo=UTC) + since
    if full_name == DURATION:
        return value.seconds * 1_000_000
    if full_name in WRAPPERS:
        return value.value
    return expected(value, names, kind)


def comparable(value: Any) -> Any:
    """Maps in some order, and decimals as the numbers they are."""
    if isinstance(value, Decimal):
        return int(value)
    if isinstance(value, dict):
        return {key: comparable(one) for key, one in value.items()}
    if isinstance(value, list):
        found = [comparable(one) for one in value]
        return sorted(found, key=repr) if found and isinstance(found[0], tuple) else found
    if isinstance(value, tuple):
        return tuple(comparable(one) for one in value)
    return value


def compare(case: Case, known: SchemaSet, have: pa.Schema) -> None:
    old, new = text_of(case.old), text_of(case.new)
    messages = [fill(message_of(old), values) for values in case.old_values]
    messages += [fill(message_of(new), values) for values in case.new_values]
    ids = [1] * len(case.old_values) + [2] * len(case.new_values)
    rows = rows_of(known, *map(framed, ids, messages), have=have)
    met = settle(known.meet([(1, (0,)), (2, (0,))]), have).columns
    names = message_of(new).DESCRIPTOR
    wanted = [expected(message, names, met) for message in messages]
    assert comparable([dict.fromkeys(met.names) | dict(row) for row in rows]) == comparable(wanted)


PROFILE = settings(
    max_examples=50,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@PROFILE
@given(a_case())
def test_rows_of_all_versions_are_what_google_protobuf_reads(case: Case) -> None:
    known = schemas(text_of(case.old), text_of(case.new))
    compare(case, known, NOTHING)


@PROFILE
@given(a_case())
def test_so_they_are_where_the_tables_have_the_older_columns(case: Case) -> None:
    known = schemas(text_of(case.old), text_of(case.new))
    compare(case, known, settle(schemas(text_of(case.old)), NOTHING).columns)
