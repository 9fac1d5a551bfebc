"""The `event` message, version by version, as .proto text and as google.protobuf classes."""

from google.protobuf import timestamp_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

_STRING = FieldDescriptorProto.TYPE_STRING
_MESSAGE = FieldDescriptorProto.TYPE_MESSAGE

_FIELDS = (
    ("game_name", _STRING),
    ("gamer_id", _STRING),
    ("event_timestamp", _MESSAGE),
    ("device_id", _STRING),
)

_TIMESTAMP = "google.protobuf.Timestamp"


def custom_column(version: int) -> str:
    """The column that `version` adds; version 0 adds none."""
    return f"col_custom_{version}"


def proto_text(version: int) -> str:
    """What is registered: version 0's four fields, and a custom column for each version since."""
    names = {_STRING: "string", _MESSAGE: _TIMESTAMP}
    fields = [f"{names[kind]} {name} = {i};" for i, (name, kind) in enumerate(_FIELDS, 1)]
    fields += [f"optional string {custom_column(v)} = {v + 5};" for v in range(1, version + 1)]
    body = "\n".join(f"  {field}" for field in fields)
    imported = 'import "google/protobuf/timestamp.proto";'
    return f'syntax = "proto3";\n\n{imported}\n\nmessage event {{\n{body}\n}}\n'


def message_class(version: int) -> type[Message]:
    """The class of `proto_text(version)`, built without protoc."""
    file = FileDescriptorProto(
        name="event.proto", syntax="proto3", dependency=[timestamp_pb2.DESCRIPTOR.name]
    )
    event = file.message_type.add(name="event")
    for number, (name, kind) in enumerate(_FIELDS, 1):
        type_name = f".{_TIMESTAMP}" if kind == _MESSAGE else None
        event.field.add(name=name, number=number, type=kind, label=1, type_name=type_name)
    for added in range(1, version + 1):
        # proto3's `optional` is a oneof of one field, named so by protoc.
        event.oneof_decl.add(name=f"_{custom_column(added)}")
        event.field.add(
            name=custom_column(added),
            number=added + 5,
            type=_STRING,
            label=1,
            proto3_optional=True,
            oneof_index=added - 1,
        )
    pool = DescriptorPool()
    pool.AddSerializedFile(timestamp_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return GetMessageClass(pool.FindMessageTypeByName("event"))
