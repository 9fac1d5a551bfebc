"""Random schemas, what they become some time later, and messages of them."""

from dataclasses import dataclass, field, replace
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from hypothesis import strategies as st

from lake_assets_tests.formats.protobuf.given import message_of

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

OWN_KINDS = [*SCALARS, "enum", "nested"]
"""Without the well-known types: of two of one field `ptars` keeps the last, and does not merge."""

KEYS = ("int32", "int64", "uint32", "uint64", "bool", "string")


@dataclass(frozen=True)
class Field:
    number: int
    name: str
    kind: str
    label: str = ""
    """optional, repeated, oneof, or the type of a map's keys."""
    nested: tuple["Field", ...] = ()

    @property
    def sibling(self) -> str:
        """The oneof's other member, a boolean."""
        return f"o_{self.number}"

    def text(self, scope: str) -> str:
        kind = {"enum": "E", "nested": f"{scope}{self.number}"}.get(self.kind, self.kind)
        named = f"{self.name} = {self.number};"
        if self.label in KEYS:
            return f"map<{self.label}, {kind}> {named}"
        if self.label == "oneof":
            other = f"bool {self.sibling} = {self.number + 50};"
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
def a_field(draw: st.DrawFn, number: int, depth: int, kinds: list[str]) -> Field:
    kind = draw(st.sampled_from(kinds if depth else kinds[:-1]))
    label = draw(st.sampled_from(["", "", "optional", "repeated", "oneof", *KEYS[:1], *KEYS[-1:]]))
    nested = draw(some_fields(depth - 1, kinds=kinds)) if kind == "nested" else ()
    return Field(number, f"f{number}", kind, label, nested)


@st.composite
def some_fields(
    draw: st.DrawFn, depth: int = 2, start: int = 1, kinds: list[str] = KINDS
) -> tuple[Field, ...]:
    count = draw(st.integers(1, 4))
    return tuple(draw(a_field(number, depth, kinds)) for number in range(start, start + count))


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


@dataclass(frozen=True)
class Joined:
    """Serialized messages of one type, joined to one, which is a message, too."""

    fields: tuple[Field, ...]
    parts: list[bytes]


@st.composite
def a_joined(draw: st.DrawFn) -> Joined:
    fields = draw(some_fields(kinds=OWN_KINDS))
    kind = message_of(text_of(fields))
    parts = []
    for _ in range(draw(st.integers(1, 4))):
        message = fill(type(kind)(), draw(some_values(fields)))
        for one in fields:
            if one.label == "oneof" and draw(st.booleans()):
                setattr(message, one.sibling, draw(st.booleans()))
        parts.append(message.SerializeToString())
        parts += draw(st.lists(an_incomplete_entry(fields), max_size=2))
    return Joined(fields, parts)


@st.composite
def an_incomplete_entry(draw: st.DrawFn, fields: tuple[Field, ...]) -> bytes:
    """An entry of some map without its value, as other writers than google's may leave it."""
    maps = [one for one in fields if one.label in KEYS]
    if not maps:
        return b""
    one = draw(st.sampled_from(maps))
    key = draw(st.sampled_from([b"", b"\x0a\x01k" if one.label == "string" else b"\x08\x07"]))
    return bytes([one.number << 3 | 2, len(key)]) + key
