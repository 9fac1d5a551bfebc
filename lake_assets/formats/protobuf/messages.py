"""Descriptors compared and looked through: which messages a schema has, and what became of fields.

Pure. What a field becomes in Arrow is `columns`' and `handlers`' business.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet

from lake_assets.formats.confluent.schemas import Path

DROPPED = "#"
"""First character of the name of a field that has no column, since a newer one took its name."""

WELL_KNOWN = "google.protobuf."
"""What full names of types begin with that have an Arrow type of their own."""

_INTEGERS = frozenset(
    {
        FieldDescriptor.TYPE_INT32,
        FieldDescriptor.TYPE_INT64,
        FieldDescriptor.TYPE_UINT32,
        FieldDescriptor.TYPE_UINT64,
        FieldDescriptor.TYPE_SINT32,
        FieldDescriptor.TYPE_SINT64,
        FieldDescriptor.TYPE_FIXED32,
        FieldDescriptor.TYPE_FIXED64,
        FieldDescriptor.TYPE_SFIXED32,
        FieldDescriptor.TYPE_SFIXED64,
    }
)

_REALS = frozenset({FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE})


def messages_of(descriptor_set: bytes) -> dict[Path, str]:
    """Full names of the messages that the last file defines, by where they stand in it."""
    root = FileDescriptorSet.FromString(descriptor_set).file[-1]
    return dict(_messages(root.message_type, root.package, ()))


def in_words(path: Path) -> str:
    """`2.0`: the first message nested in the file's third."""
    return ".".join(str(index) for index in path)


def reads_alike(own: Descriptor, newest: Descriptor) -> bool:
    """Whether messages written with `own` mean the same, to the last null, read with `newest`.

    That is so if nothing changed but for new fields that are null where they are missing:
    `optional` ones, messages and members of a oneof.
    """
    return _reads_alike(own, newest, set())


def renamed(raw: pa.Schema, own: Descriptor, newest: Descriptor) -> pa.Schema:
    """`raw`, which the decoder gives for `own`, under the names of `newest`'s fields.

    Fields are the same if they have the same number and are of the same kind, at any depth. A field
    that is gone keeps its own name, unless that is another's now; then it is `DROPPED`.
    """
    return pa.schema(_renamed(list(raw), own, newest))


def twin_of(field: FieldDescriptor, newest: Descriptor) -> FieldDescriptor | None:
    """The same field in the newest version, if it is there: of the same number and kind."""
    twin: FieldDescriptor | None = newest.fields_by_number.get(field.number)
    if twin is None or (twin.name != field.name and _kind(twin) != _kind(field)):
        return None
    return twin


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field is a map, which is a list of entries on the wire."""
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _messages(
    found: Iterable[DescriptorProto], scope: str, path: Path
) -> Iterator[tuple[Path, str]]:
    for index, message in enumerate(found):
        name = f"{scope}.{message.name}" if scope else message.name
        if not message.options.map_entry:
            yield (*path, index), name
            yield from _messages(message.nested_type, name, (*path, index))


def _reads_alike(own: Descriptor, newest: Descriptor, seen: set[tuple[str, str]]) -> bool:
    pair = (own.full_name, newest.full_name)
    if pair in seen:
        return True
    seen.add(pair)
    if own.full_name.startswith(WELL_KNOWN):
        return own.full_name == newest.full_name
    added = [f for f in newest.fields if f.number not in own.fields_by_number]
    if any(field.is_repeated or not field.has_presence for field in added):
        return False
    return all(
        field.number in newest.fields_by_number
        and _is_unchanged(field, newest.fields_by_number[field.number], seen)
        for field in own.fields
    )


def _is_unchanged(
    own: FieldDescriptor, newest: FieldDescriptor, seen: set[tuple[str, str]]
) -> bool:
    if _shape(own) != _shape(newest):
        return False
    if own.enum_type is not None and newest.enum_type is not None:
        return _values(own.enum_type).items() <= _values(newest.enum_type).items()
    if own.message_type is not None and newest.message_type is not None:
        return _reads_alike(own.message_type, newest.message_type, seen)
    return True


def _shape(field: FieldDescriptor) -> tuple[object, ...]:
    oneof = field.containing_oneof.name if field.containing_oneof is not None else None
    return field.type, field.is_repeated, field.has_presence, oneof, is_map(field)


def _values(enum: EnumDescriptor) -> dict[int, str]:
    return {number: value.name for number, value in enum.values_by_number.items()}


def _renamed(fields: list[pa.Field], own: Descriptor, newest: Descriptor) -> Iterator[pa.Field]:
    twins = {field.name: twin_of(own.fields_by_name[field.name], newest) for field in fields}
    taken = {twin.name.lower() for twin in twins.values() if twin is not None}
    for field in fields:
        twin = twins[field.name]
        if twin is not None:
            kind = _renamed_type(field.type, own.fields_by_name[field.name], twin)
            yield field.with_name(twin.name).with_type(kind)
        else:
            is_taken = field.name.lower() in taken
            yield field.with_name(f"{DROPPED}{field.name}") if is_taken else field


def _kind(field: FieldDescriptor) -> tuple[object, ...]:
    """What a field may not change if it is to be the same under another name."""
    if field.message_type is not None and is_map(field):
        entry = field.message_type.fields_by_name
        return "map", _kind(entry["key"]), _kind(entry["value"])
    if field.message_type is not None:
        name = field.message_type.full_name
        kind: object = name if name.startswith(WELL_KNOWN) else "message"
    else:
        in_groups = {**dict.fromkeys(_INTEGERS, "integer"), **dict.fromkeys(_REALS, "real")}
        kind = in_groups.get(field.type, field.type)
    return field.is_repeated, kind


def _renamed_type(kind: pa.DataType, own: FieldDescriptor, newest: FieldDescriptor) -> pa.DataType:
    if own.message_type is None or newest.message_type is None:
        return kind
    if own.message_type.full_name.startswith(WELL_KNOWN):
        return kind
    if pa.types.is_map(kind) and is_map(own) and is_map(newest):
        before, now = (
            entry.fields_by_name["value"] for entry in (own.message_type, newest.message_type)
        )
        item = kind.item_field
        return pa.map_(kind.key_field, item.with_type(_renamed_type(item.type, before, now)))
    if pa.types.is_list(kind):
        item = kind.value_field
        return pa.list_(item.with_type(_renamed_type(item.type, own, newest)))
    if pa.types.is_struct(kind) and not (is_map(own) or is_map(newest)):
        return pa.struct(list(_renamed(list(kind), own.message_type, newest.message_type)))
    return kind
