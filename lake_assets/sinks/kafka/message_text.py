"""A message type as the text of its .proto file. Pure; what is in it is `message_types`'."""

from collections.abc import Iterable

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
)

from lake_assets.sinks.kafka.message_types import PACKAGE, TIMESTAMP, MisfitError, nested_in

_Field = FieldDescriptorProto


def text_of(file: FileDescriptorProto) -> str:
    """A file as its .proto text.

    Raises:
        MisfitError: it has what is not made here, such as enums and options.
    """
    (message,) = _only(file.message_type, "more messages than one")
    lines = list(_lines(message, ""))
    imports = (
        ['import "google/protobuf/timestamp.proto";', ""] if TIMESTAMP in "".join(lines) else []
    )
    return "\n".join(['syntax = "proto3";', f"package {PACKAGE};", "", *imports, *lines, ""])


def _lines(message: DescriptorProto, indent: str) -> Iterable[str]:
    if message.enum_type or message.reserved_range or message.extension_range:
        fact = f"{message.name} has more than fields"
        raise MisfitError(fact)
    yield f"{indent}message {message.name} {{"
    for nested in message.nested_type:
        if not nested.options.map_entry:
            yield from _lines(nested, f"{indent}  ")
    for field in sorted(message.field, key=lambda one: one.number):
        yield f"{indent}  {_typed(message, field)} {field.name} = {field.number};"
    yield f"{indent}}}"


def _typed(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    nested = nested_in(message, field)
    if nested is not None and nested.options.map_entry:
        key, value = nested.field
        return f"map<{_type_in_text(key)}, {_type_in_text(value)}>"
    if field.HasField("oneof_index") and not field.proto3_optional:
        fact = f"{message.name}.{field.name} is of a oneof"
        raise MisfitError(fact)
    label = "repeated " if field.label == _Field.LABEL_REPEATED else ""
    return f"{'optional ' if field.proto3_optional else label}{_type_in_text(field)}"


def _type_in_text(field: FieldDescriptorProto) -> str:
    if field.type == _Field.TYPE_MESSAGE:
        is_ours = field.type_name != f".{TIMESTAMP}"
        return field.type_name.rpartition(".")[2] if is_ours else TIMESTAMP
    return _Field.Type.Name(field.type).removeprefix("TYPE_").lower()


def _only(found: Iterable[DescriptorProto], otherwise: str) -> tuple[DescriptorProto]:
    messages = tuple(found)
    if len(messages) != 1:
        fact = f"has {otherwise}"
        raise MisfitError(fact)
    return (messages[0],)
