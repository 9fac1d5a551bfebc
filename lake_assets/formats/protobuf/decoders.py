"""`ptars`' decoder of a message, made once a process: workers see the same schema a thousand times.

Here alone is said how protobuf is asked to become Arrow; `columns` and `arrow` must agree on it.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from google.protobuf.descriptor import Descriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from ptars import HandlerPool, PtarsConfig

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.protobuf.bounds import ensure_bounded

_CONFIG = PtarsConfig(
    confluent_wire_policy="protobuf",
    timestamp_unit="us",
    timestamp_tz="UTC",
    duration_unit="us",
    enum_repr="string",
)

HEADER = 6
"""Bytes before a message that is framed in the shortest way."""

# Messages and versions of a few feeds; a handler takes 0.1 ms to make and holds some kilobytes.
_KEPT = 128


def handler_of(message: str, descriptor_set: bytes) -> Any:  # noqa: ANN401 - ptars has no types
    """The `ptars` handler of a message.

    Raises:
        SchemaUnusableError: `ptars` cannot work with the message. Names of one message that differ
            only by case or underscores are such a reason; Delta could not store the former anyway.
    """
    try:
        return _handler(message, descriptor_set)
    except BaseException as problem:
        if not is_panic(problem):
            raise
        raise SchemaUnusableError(
            f"message {message}", f"cannot be decoded ({problem})", "Register a corrected version"
        ) from problem


def descriptor_of(message: str, descriptor_set: bytes) -> Descriptor:
    """google.protobuf's descriptor of a message, by its full name.

    Raises:
        SchemaUnusableError: google.protobuf refuses what protoc took.
    """
    try:
        pool = _pool_of(descriptor_set)
    except TypeError as problem:
        raise SchemaUnusableError(
            f"message {message}", f"cannot be decoded ({problem})", "Register a corrected version"
        ) from problem
    return pool.FindMessageTypeByName(message)


@lru_cache(maxsize=_KEPT)
def _pool_of(descriptor_set: bytes) -> DescriptorPool:
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptor_set).file:
        _forget_json_names(file.message_type)
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _forget_json_names(messages: Iterable[DescriptorProto]) -> None:
    """Give fields JSON names that nothing else has.

    A pool refuses a field `user_id` beside a oneof `userId`, and no JSON is read here.
    """
    for message in messages:
        for field in message.field:
            field.json_name = f"#{field.number}"
        _forget_json_names(message.nested_type)


def is_panic(problem: BaseException) -> bool:
    """Whether this is a Rust panic; pyo3 derives it from BaseException and exports no name."""
    return type(problem).__name__ == "PanicException"


@lru_cache(maxsize=_KEPT)
def _handler(message: str, descriptor_set: bytes) -> Any:  # noqa: ANN401
    descriptor = descriptor_of(message, descriptor_set)
    ensure_bounded(descriptor)
    return HandlerPool([descriptor.file], _CONFIG).get_for_message(descriptor)
