"""A field's default, written as Avro so that it is read as rows are. Pure."""

import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

from lake_assets.formats.avro.schema import Field, Type
from lake_assets.runtime.varints import zigzag


def encode(kind: Type, default: str) -> bytes:
    """The datum that a default stands for.

    Args:
        kind: of the field.
        default: JSON text. Of a union it is a value of the first branch that takes it; bytes are
            text whose characters are bytes.

    Raises:
        ValueError: it is no value of the type.
        OverflowError: it is no float of 32 bits.
    """
    return _encode(kind, json.loads(default))


def check(kind: Type) -> None:
    """Make sure that each default within a type can be written.

    Raises:
        ValueError: one is no value of its type.
        OverflowError: one is no float of 32 bits.
    """
    for field in kind.fields:
        if field.default is not None:
            encode(field.type, field.default)
        check(field.type)
    for inner in kind.inner:
        check(inner)


def _encode(kind: Type, value: Any) -> bytes:  # noqa: ANN401 - any JSON
    if kind.kind == "only":
        return _encode(kind.inner[0], value)
    if kind.kind == "union":
        return _union(kind, value)
    written = _NESTED[kind.kind](kind, value) if kind.kind in _NESTED else _simple(kind, value)
    if written is None:
        message = f"{value!r} is no {kind.kind}"
        raise ValueError(message)
    return written


def _simple(kind: Type, value: Any) -> bytes | None:  # noqa: ANN401, C901 - a case a type
    written: bytes | None = None
    match kind.kind, value:
        case "null", None:
            written = b""
        case "boolean", bool():
            written = bytes([value])
        case "int" | "long", int() if not isinstance(value, bool):
            bits = 31 if kind.kind == "int" else 63
            written = zigzag(value) if -(1 << bits) <= value < 1 << bits else None
        case "float" | "double", int() | float() | str():
            written = struct.pack("<f" if kind.kind == "float" else "<d", float(value))
        case "string", str():
            written = _counted(value.encode())
        case "bytes", str():
            written = _counted(value.encode("latin-1"))
        case "fixed", str() if len(value) == kind.size:
            written = value.encode("latin-1")
        case "enum", str() if value in kind.symbols:
            written = zigzag(kind.symbols.index(value))
    return written


def _array(kind: Type, value: Any) -> bytes | None:  # noqa: ANN401
    if not isinstance(value, list):
        return None
    return _blocks([_encode(kind.inner[0], one) for one in value])


def _map(kind: Type, value: Any) -> bytes | None:  # noqa: ANN401
    if not isinstance(value, dict):
        return None
    pairs = value.items()
    return _blocks([_counted(key.encode()) + _encode(kind.inner[0], one) for key, one in pairs])


def _record(kind: Type, value: Any) -> bytes | None:  # noqa: ANN401
    if not isinstance(value, dict):
        return None
    return b"".join(
        _encode(one.type, value[one.name]) if one.name in value else _own(one)
        for one in kind.fields
    )


def _own(field: Field) -> bytes:
    if field.default is None:
        message = f"there is no {field.name}"
        raise ValueError(message)
    return encode(field.type, field.default)


def _union(kind: Type, value: Any) -> bytes:  # noqa: ANN401
    problem: ValueError | None = None
    for index, branch in enumerate(kind.inner):
        try:
            return zigzag(index) + _encode(branch, value)
        except ValueError as found:
            problem = problem or found
    raise problem or ValueError("a union without types")


def _blocks(items: list[bytes]) -> bytes:
    return (zigzag(len(items)) + b"".join(items) if items else b"") + b"\0"


def _counted(data: bytes) -> bytes:
    return zigzag(len(data)) + data


_NESTED: Mapping[str, Callable[[Type, Any], bytes | None]] = {
    "array": _array,
    "map": _map,
    "record": _record,
}
