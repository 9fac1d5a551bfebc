"""Where each record of a block of Avro ends: datums of any schema passed over, none is decoded.

As in `formats.avro.walk`, whose schemas have columns; here one has what a file may have, such as a
record within itself. Who decodes a record checks what is in it.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import fastavro

from lake_assets.model.avro_json import without_defaults

Walk: TypeAlias = Callable[[bytes, int], int]
"""From where a datum begins to the position after it, which may be beyond the bytes.

Raises:
    IndexError: it begins beyond them, or breaks off in a number.
    WalkError: it is none.
    RecursionError: it is nested too deep.
"""


class WalkError(Exception):
    """What is wrong with a datum, in words."""


_LONGEST = 10
"""Bytes of a varint of 64 bits."""

_MORE = 0x80
"""Bit of a varint's byte that says that another follows."""


@lru_cache(maxsize=64)
def walk_of(schema: str) -> Walk:
    """What passes over records of a schema, that of a container's header."""
    names: dict[str, Any] = {}
    root = fastavro.parse_schema(without_defaults(json.loads(schema)), names)
    return _Walks(names, {}).of(root)


class _Walks:
    def __init__(self, names: Mapping[str, Any], made: dict[str, Walk]) -> None:
        self._names, self._made = names, made

    def of(self, kind: Any) -> Walk:  # noqa: ANN401 - JSON
        if isinstance(kind, list):
            return _union([self.of(one) for one in kind])
        name = kind if isinstance(kind, str) else kind["type"]
        if isinstance(name, dict | list):
            return self.of(name)
        made = self._MAKERS.get(name)
        if made is not None:
            return made(self, kind)
        return self._named(name) if name in self._names else _PLAIN[name]

    def _named(self, name: str) -> Walk:
        made = self._made

        def walk(data: bytes, at: int) -> int:
            return made[name](data, at)

        if name in made:
            return made[name]
        made[name] = walk  # for a record within itself, until it is made
        made[name] = self.of(self._names[name])
        return made[name]

    def _record(self, kind: Any) -> Walk:  # noqa: ANN401 - JSON
        parts = [self.of(field["type"]) for field in kind["fields"]]

        def walk(data: bytes, at: int) -> int:
            for one in parts:
                at = one(data, at)
            return at

        self._made[kind["name"]] = walk
        return walk

    _MAKERS: ClassVar[Mapping[str, Callable[["_Walks", Any], Walk]]] = {
        "record": _record,
        "error": _record,
        "array": lambda self, kind: _items([self.of(kind["items"])]),
        "map": lambda self, kind: _items([_counted, self.of(kind["values"])]),
        "fixed": lambda _, kind: _fixed(int(kind["size"])),
    }


def _long(data: bytes, at: int) -> tuple[int, int]:
    octet = data[at]
    if octet < _MORE:
        return (octet >> 1) ^ -(octet & 1), at + 1
    value = shift = 0
    for place in range(at, at + _LONGEST):
        octet = data[place]
        value |= (octet & 0x7F) << shift
        if octet < _MORE:
            return (value >> 1) ^ -(value & 1), place + 1
        shift += 7
    raise WalkError("a number has more than 64 bits")


def _number(data: bytes, at: int) -> int:
    return at + 1 if data[at] < _MORE else _long(data, at)[1]


def _counted(data: bytes, at: int) -> int:
    octet = data[at]
    length, at = (octet >> 1, at + 1) if not octet & 0x81 else _long(data, at)
    if length < 0:
        raise WalkError("a length is negative")
    return at + length


def _fixed(width: int) -> Walk:
    if width < 0:
        raise ValueError(f"a fixed type of {width} bytes")
    return lambda _, at: at + width


def _union(branches: list[Walk]) -> Walk:
    count = len(branches)

    def walk(data: bytes, at: int) -> int:
        branch, at = _long(data, at)
        if not 0 <= branch < count:
            raise WalkError(f"a union of {count} types has no such one")
        return branches[branch](data, at)

    return walk


def _items(parts: list[Walk]) -> Walk:
    def walk(data: bytes, at: int) -> int:
        while count_and_at := _block(data, at):
            count, at = count_and_at
            begin = at
            for _ in range(count):
                for one in parts:
                    at = one(data, at)
                if at == begin:
                    break  # items without bytes, however many
                if at > len(data):
                    raise IndexError
        return _number(data, at)

    return walk


def _block(data: bytes, at: int) -> tuple[int, int] | None:
    """How many items come next and where they begin; None if there are no more."""
    count, at = _long(data, at)
    if count >= 0:
        return (count, at) if count else None
    return -count, _number(data, at)  # after how many bytes they have, which are counted here


_PLAIN: Mapping[str, Walk] = {
    "null": _fixed(0),
    "boolean": _fixed(1),
    "float": _fixed(4),
    "double": _fixed(8),
    "bytes": _counted,
    "string": _counted,
    "int": _number,
    "long": _number,
    "enum": _number,
}
