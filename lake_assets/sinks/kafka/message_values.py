"""Rows as messages of one type: which columns its fields take, and which values.

A value that a field would hold otherwise than it is, is refused, and its row with it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pyarrow as pa
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from lake_assets.formats.protobuf.messages import is_map
from lake_assets.sinks.kafka.field_values import Convert, UnfitError, converting, misfit, type_name
from lake_assets.sinks.kafka.message_types import TIMESTAMP, MisfitError, is_instant, is_list

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Put: TypeAlias = Callable[[Message, Any], None]
"""Puts a value into its field of a message; raises UnfitError."""


@dataclass(frozen=True, slots=True)
class Encoder:
    """Encodes rows with some columns."""

    make: Callable[[], Message]
    puts: Mapping[str, Put]

    def encode(self, row: Mapping[str, Any]) -> bytes:
        """A row of Python's values (`far_times.python_values`).

        Raises:
            UnfitError: a value does not fit.
        """
        message = self.make()
        for name, put in self.puts.items():
            put(message, row[name])
        return message.SerializeToString(deterministic=True)


def message_class(descriptor_set: bytes, message: str) -> type[Message]:
    """The class of a message type, by its full name, which the set has."""
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptor_set).file:
        pool.Add(file)
    return GetMessageClass(pool.FindMessageTypeByName(message))


def encoder_for(made: type[Message], columns: Iterable[pa.Field]) -> Encoder:
    """What encodes rows with these columns.

    Raises:
        MisfitError: the message type has no field for one of them, or demands one more.
    """
    descriptor: Any = made.DESCRIPTOR  # of either implementation
    return Encoder(make=made, puts=_puts(descriptor, columns, ""))


def _puts(message: Descriptor, columns: Iterable[pa.Field], within: str) -> dict[str, Put]:
    puts = {}
    for column in columns:
        name = f"{within}{column.name}"
        field = message.fields_by_name.get(column.name)
        if field is None:
            fact = f"{message.full_name} has no field {name}"
            raise MisfitError(fact)
        puts[column.name] = _put(field, column.type, name)
    lacking = next((f.name for f in message.fields if f.is_required and f.name not in puts), None)
    if lacking is not None:
        fact = f"{message.full_name} requires {within}{lacking}, which rows do not have"
        raise MisfitError(fact)
    return puts


def _put(field: FieldDescriptor, kind: pa.DataType, name: str) -> Put:
    if pa.types.is_map(kind) and is_map(field):
        return _put_map(field, kind, name)
    if is_list(kind) and field.is_repeated and not is_map(field):
        return _put_list(field, kind, name)
    if field.is_repeated or is_list(kind) or pa.types.is_map(kind):
        raise misfit(field, kind, name)
    fill = _filling(field, kind, name)
    return _guarded(
        field, name, _single(field, fill, _same if fill else converting(field, kind, name))
    )


def _single(field: FieldDescriptor, fill: Put | None, convert: Convert) -> Put:
    own, oneof = field.name, field.containing_oneof
    is_alone = oneof is None or len(oneof.fields) == 1

    def put(message: Message, value: Any) -> None:  # noqa: ANN401 - of any type
        if value is None:
            if not field.has_presence or field.is_required:
                fact = "is null, and its field always has a value: make it `optional`"
                raise UnfitError(fact)
            return
        if not is_alone and oneof is not None and message.WhichOneof(oneof.name) is not None:
            fact = f"is the second value of oneof {oneof.name}"
            raise UnfitError(fact)
        if fill is None:
            setattr(message, own, convert(value))
        else:
            inner = getattr(message, own)
            inner.SetInParent()
            fill(inner, value)

    return put


def _put_list(field: FieldDescriptor, kind: pa.DataType, name: str) -> Put:
    fill = _filling(field, kind.value_type, name)
    convert = _same if fill else converting(field, kind.value_type, name)

    def put(message: Message, value: Any) -> None:  # noqa: ANN401 - of any type
        items = getattr(message, field.name)
        for item in value or ():
            if item is None:
                fact = "has null among its values"
                raise UnfitError(fact)
            if fill is None:
                items.append(convert(item))
            else:
                fill(items.add(), item)

    return _guarded(field, name, put)


def _put_map(field: FieldDescriptor, kind: pa.DataType, name: str) -> Put:
    entry = field.message_type
    assert entry is not None  # noqa: S101 - maps have one
    key, item = entry.fields_by_name["key"], entry.fields_by_name["value"]
    of_key = converting(key, kind.key_type, f"{name}.key")
    fill = _filling(item, kind.item_type, f"{name}.value")
    convert = _same if fill else converting(item, kind.item_type, f"{name}.value")

    def put(message: Message, value: Any) -> None:  # noqa: ANN401 - of any type
        items = getattr(message, field.name)
        for one, found in value or ():
            if found is None:
                fact = f"has null under {one!r}"
                raise UnfitError(fact)
            if fill is None:
                items[of_key(one)] = convert(found)
            else:
                inner = items[of_key(one)]
                inner.SetInParent()
                fill(inner, found)

    return _guarded(field, name, put)


def _guarded(field: FieldDescriptor, name: str, put: Put) -> Put:
    """The same, whose errors name the field."""
    words = field.message_type.name if field.message_type is not None else type_name(field)

    def guarded(message: Message, value: Any) -> None:  # noqa: ANN401 - of any type
        try:
            put(message, value)
        except _InnerError:
            raise
        except UnfitError as problem:
            raise _InnerError(name, str(problem)) from problem
        except (ValueError, TypeError, OverflowError) as problem:
            raise _InnerError(name, f"does not fit {words} ({problem})") from problem

    return guarded


class _InnerError(UnfitError):
    """Names its field already."""

    def __init__(self, name: str, why: str) -> None:
        """Which field, and why."""
        super().__init__(f"{name} {why}")


def _filling(field: FieldDescriptor, kind: pa.DataType, name: str) -> Put | None:
    """What fills a field's message; None if its values are no messages."""
    inner = field.message_type
    if pa.types.is_struct(kind):
        if inner is None or inner.full_name == TIMESTAMP:
            raise misfit(field, kind, name)
        puts = _puts(inner, kind, f"{name}.")

        def fill(message: Message, value: Any) -> None:  # noqa: ANN401 - of any type
            for own, put in puts.items():
                put(message, value[own])

        return fill
    if (
        is_instant(kind)
        and kind.unit != "ns"
        and inner is not None
        and inner.full_name == TIMESTAMP
    ):
        return _fill_time
    return None


def _fill_time(message: Any, value: Any) -> None:  # noqa: ANN401 - a Timestamp
    if isinstance(value, str):
        fact = f"is {value}: a Timestamp has the years 1 to 9999"
        raise UnfitError(fact)
    since = value - _EPOCH
    message.seconds = since.days * 86_400 + since.seconds
    message.nanos = since.microseconds * 1000


def _same(value: Any) -> Any:  # noqa: ANN401 - of any type
    return value
