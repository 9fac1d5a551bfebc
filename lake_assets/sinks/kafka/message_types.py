"""Message types of rows: which fields columns become, and what becomes of fields over time. Pure.

A field that has a number keeps it: types only get fields, and lose none. Which values fit a field
is the business of `message_values`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

PACKAGE = "lake_assets"
"""Of the message types that are made here: they are told from a user's own by it."""

TIMESTAMP = "google.protobuf.Timestamp"

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED = range(19_000, 20_000)
"""Numbers of fields that are protobuf's own."""

_Field = FieldDescriptorProto

_SCALARS = (
    (pa.types.is_boolean, _Field.TYPE_BOOL),
    (pa.types.is_uint64, _Field.TYPE_UINT64),
    (lambda kind: pa.types.is_int64(kind) or pa.types.is_uint32(kind), _Field.TYPE_INT64),
    (pa.types.is_integer, _Field.TYPE_INT32),
    (pa.types.is_float64, _Field.TYPE_DOUBLE),
    (pa.types.is_floating, _Field.TYPE_FLOAT),
    (lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind), _Field.TYPE_STRING),
    (pa.types.is_binary, _Field.TYPE_BYTES),
    (pa.types.is_large_binary, _Field.TYPE_BYTES),
    (pa.types.is_fixed_size_binary, _Field.TYPE_BYTES),
    # Protobuf has no type of its own for these: they are texts, as JSON has them.
    (pa.types.is_decimal, _Field.TYPE_STRING),
    (pa.types.is_date, _Field.TYPE_STRING),
    (pa.types.is_time, _Field.TYPE_STRING),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None, _Field.TYPE_STRING),
)


class MisfitError(ValueError):
    """A column has no field in a message type; the text says which, and why."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """What a field is to be."""

    type: "FieldDescriptorProto.Type.ValueType"
    is_repeated: bool = False
    fields: tuple[pa.Field, ...] = ()
    """Of a message that is nested."""

    key: "FieldDescriptorProto.Type.ValueType | None" = None
    """Of a map: the type of its keys."""


def new_file(topic: str) -> FileDescriptorProto:
    """A file with a message type that is named after a topic, and has no fields yet."""
    words = re.findall(r"[A-Za-z0-9]+", topic)
    name = "".join(word[0].upper() + word[1:] for word in words) or "Row"
    name = name if name[0].isalpha() else f"Topic{name}"
    return FileDescriptorProto(package=PACKAGE, message_type=[DescriptorProto(name=name)])


def joined(versions: Iterable[FileDescriptorProto]) -> FileDescriptorProto:
    """All fields that the versions of a file have, the older ones first; there is one at least.

    Raises:
        MisfitError: a field has not the same number and type in all of them.
    """
    first, *others = versions
    whole = FileDescriptorProto.FromString(first.SerializeToString())
    for other in others:
        _join(whole.message_type[0], other.message_type[0])
    return whole


def extend(message: DescriptorProto, columns: Iterable[pa.Field], within: str = "") -> None:
    """Give a message type a field for each column that it has none for, at any depth.

    Args:
        message: is changed.
        columns: of rows, or fields of a struct.
        within: name of the struct with a point behind it, for errors.

    Raises:
        MisfitError: no field can hold a column, or none of its name can be there.
    """
    for column in columns:
        name = f"{within}{column.name}"
        kind = _kind(name, column.type)
        field = next((one for one in message.field if one.name == column.name), None)
        if field is None:
            field = _added(message, column.name, name, kind)
        nested = nested_in(message, field)
        if kind.fields and nested is not None:
            if nested.options.map_entry:
                value = next(one for one in nested.field if one.name == "value")
                nested = nested_in(message, value)
            if nested is not None:
                extend(nested, kind.fields, f"{name}.")


def scalar_of(kind: pa.DataType) -> "FieldDescriptorProto.Type.ValueType | None":
    """Type of the field that holds a plain type's values; None if there is none."""
    return next((found for is_such, found in _SCALARS if is_such(kind)), None)


def is_instant(kind: pa.DataType) -> bool:
    """Whether values are points in time that a `Timestamp` holds."""
    return bool(pa.types.is_timestamp(kind) and kind.tz is not None)


def is_list(kind: pa.DataType) -> bool:
    """Whether values are lists, whichever of Arrow's."""
    return bool(
        pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    )


def _kind(name: str, kind: pa.DataType) -> _Kind:
    if is_list(kind):
        one = _single(name, kind.value_type)
        return _Kind(one.type, is_repeated=True, fields=one.fields)
    if pa.types.is_map(kind):
        key, one = scalar_of(kind.key_type), _single(name, kind.item_type)
        if key not in _KEYS:
            message = f"{name} is {kind}: a map's keys are texts, integers or booleans there"
            raise MisfitError(message)
        return _Kind(one.type, is_repeated=True, fields=one.fields, key=key)
    return _single(name, kind)


_KEYS = {
    _Field.TYPE_STRING,
    _Field.TYPE_BOOL,
    _Field.TYPE_INT32,
    _Field.TYPE_INT64,
    _Field.TYPE_UINT64,
}


def _single(name: str, kind: pa.DataType) -> _Kind:
    if pa.types.is_struct(kind) and kind.num_fields:
        return _Kind(_Field.TYPE_MESSAGE, fields=tuple(kind))
    if is_instant(kind):
        return _Kind(_Field.TYPE_MESSAGE)
    found = scalar_of(kind)
    if found is None:
        message = f"{name} is {kind}, which no field of a message holds: leave it out, or cast it"
        raise MisfitError(message)
    return _Kind(found)


def _added(message: DescriptorProto, own: str, name: str, kind: _Kind) -> FieldDescriptorProto:
    entry_name = f"{_in_json(own, upper=True)}Entry" if kind.key is not None else ""
    _ensure_free(message, own, name, entry_name)
    number = max((one.number for one in message.field), default=0) + 1
    number = number if number not in _RESERVED else _RESERVED.stop
    made = FieldDescriptorProto(name=own, number=number, type=kind.type)
    if kind.type == _Field.TYPE_MESSAGE:
        made.type_name = f".{TIMESTAMP}"
        if kind.fields:
            made.type_name = _type_name(message, own)
            message.nested_type.add(name=made.type_name)
    if entry_name:
        entry = message.nested_type.add(name=entry_name)
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=kind.key)
        value = FieldDescriptorProto()
        value.CopyFrom(made)
        value.name, value.number = "value", 2
        entry.field.append(value)
        made.type, made.type_name = _Field.TYPE_MESSAGE, entry.name
    made.label = _Field.LABEL_REPEATED if kind.is_repeated else _Field.LABEL_OPTIONAL
    made.proto3_optional = not kind.is_repeated
    message.field.append(made)
    return message.field[-1]


def _ensure_free(message: DescriptorProto, own: str, name: str, entry_name: str) -> None:
    """Refuse names that protobuf has no place for beside those that are there."""
    if not _IDENTIFIER.fullmatch(own):
        fact = f"{name!r} is no name of a field in protobuf: letters, digits and _"
        raise MisfitError(fact)
    twin = next((one.name for one in message.field if _in_json(one.name) == _in_json(own)), None)
    if twin is not None:
        fact = f"{name} and {twin} are the same name to protobuf, which writes both in JSON alike"
        raise MisfitError(fact)
    types, fields = ({one.name for one in of} for of in (message.nested_type, message.field))
    if clash := {own, entry_name} & types or {entry_name} & fields:
        fact = f"{name} clashes with the type {clash.pop()}, which another column's values have"
        raise MisfitError(fact)


def _type_name(message: DescriptorProto, own: str) -> str:
    """A name for the message of a field that nothing beside it has."""
    nested = (one.name for one in message.nested_type)
    taken = {own, *(one.name for one in message.field), *nested}
    name = _in_json(own, upper=True)
    while name in taken or name.endswith("Entry"):  # as types of maps are called
        name += "_"
    return name


def _in_json(name: str, *, upper: bool = False) -> str:
    """A field's name as protobuf writes it in JSON: `play_time` is `playTime`."""
    first, *others = name.split("_")
    words = first + "".join(word[:1].upper() + word[1:] for word in others)
    return words[:1].upper() + words[1:] if upper else words


def nested_in(message: DescriptorProto, field: FieldDescriptorProto) -> DescriptorProto | None:
    """The message type of a field that stands within the message's own."""
    if field.type != _Field.TYPE_MESSAGE or field.type_name == f".{TIMESTAMP}":
        return None
    own = field.type_name.rpartition(".")[2]
    return next((one for one in message.nested_type if one.name == own), None)


def _join(message: DescriptorProto, other: DescriptorProto) -> None:
    for field in other.field:
        same = next((one for one in message.field if field.name == one.name), None)
        taken = next((one for one in message.field if field.number == one.number), None)
        if same is None and taken is None:
            message.field.append(field)
        elif same is None or taken is None or _told(same) != _told(field):
            known = same or taken
            assert known is not None  # noqa: S101 - one of them is
            fact = (
                f"field {field.name} = {field.number} of {other.name} was {known.name} ="
                f" {known.number} in an older version, or had another type"
            )
            raise MisfitError(fact)
    for nested in other.nested_type:
        own = next((one for one in message.nested_type if one.name == nested.name), None)
        if own is None:
            message.nested_type.append(nested)
        else:
            _join(own, nested)


def _told(field: FieldDescriptorProto) -> tuple[object, ...]:
    return field.number, field.type, field.label, field.type_name
