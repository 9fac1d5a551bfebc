"""`ptars`' decoder for a schema, made once a process: workers see the same schema a thousand times.

Here alone is said how protobuf is asked to become Arrow; `columns` and `arrow` must agree on it.
"""

from functools import lru_cache
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from ptars import HandlerPool, PtarsConfig

from lake_assets.decode.schemas import SchemaSet
from lake_assets.errors import RegistryError

_CONFIG = PtarsConfig(
    confluent_wire_policy="protobuf",
    timestamp_unit="us",
    timestamp_tz="UTC",
    duration_unit="us",
    enum_repr="string",
)

# A few versions of a few feeds; a handler holds some kilobytes.
_KEPT = 32


def handler_of(schemas: SchemaSet) -> Any:  # noqa: ANN401 - ptars' Rust half has no types
    """The `ptars` handler of the newest schema.

    Raises:
        RegistryError: `ptars` cannot work with the schema. Names of one message that differ only
            by case or underscores are such a reason; Delta could not store the former anyway.
    """
    try:
        return _handler(schemas.message, schemas.descriptor_set)
    except BaseException as problem:
        if not is_panic(problem):
            raise
        thing = f"version {schemas.version} of subject {schemas.subject!r}"
        raise RegistryError(
            thing, f"cannot be decoded ({problem})", "Register a corrected version"
        ) from problem


def is_panic(problem: BaseException) -> bool:
    """Whether this is a Rust panic; pyo3 derives it from BaseException and exports no name."""
    return type(problem).__name__ == "PanicException"


@lru_cache(maxsize=_KEPT)
def _handler(message: str, descriptor_set: bytes) -> Any:  # noqa: ANN401
    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(descriptor_set).file:
        pool.AddSerializedFile(file.SerializeToString())
    descriptor = pool.FindMessageTypeByName(message)
    return HandlerPool([descriptor.file], _CONFIG).get_for_message(descriptor)
