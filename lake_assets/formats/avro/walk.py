"""One value after the other passed over in Python: where items begin in the few long arrays.

Nothing is decoded, and little is checked: whoever reads the items does that.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias

from lake_assets.formats.avro.cursor import CUT_OFF, LONGEST
from lake_assets.formats.avro.schema import Type

Skip: TypeAlias = Callable[[memoryview, int, int], int]
"""From a position to the one after a value, given the end of what may be read.

Raises:
    WalkError: the value does not end before that.
"""


class WalkError(Exception):
    """What is wrong with the bytes; caught where rows are refused."""


def width_of(kind: Type) -> int:
    """How many bytes a value has at least."""
    if kind.kind == "record":
        return sum(width_of(one.type) for one in kind.fields)
    if kind.kind == "union":
        return 1 + min(map(width_of, kind.inner))
    if kind.kind == "only":
        return width_of(kind.inner[0])
    return _WIDTHS.get(kind.kind, kind.size if kind.kind == "fixed" else 1)


def is_fixed(kind: Type) -> bool:
    """Whether all values have `width_of` bytes."""
    if kind.kind == "record":
        return all(is_fixed(one.type) for one in kind.fields)
    if kind.kind == "only":
        return is_fixed(kind.inner[0])
    return kind.kind in {"null", "boolean", "float", "double", "fixed"}


_WIDTHS = {"null": 0, "float": 4, "double": 8}


def varint(data: memoryview, at: int, end: int) -> tuple[int, int]:
    """A zigzag number, and the position after it.

    Raises:
        WalkError: there is none.
    """
    value = shift = 0
    while at < end:
        octet = data[at]
        at += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:  # noqa: PLR2004 - the bit that says that another follows
            return (value >> 1) ^ -(value & 1), at
        shift += 7
        if shift >= 7 * LONGEST:
            raise WalkError("a number has more than 64 bits")
    raise WalkError(CUT_OFF)


def items(
    data: memoryview, at: int, end: int, skips: tuple[Skip, ...], least: int
) -> tuple[list[int], list[int], int]:
    """Where the items of an array or a map begin and end, all blocks to their end.

    Returns:
        Beginnings, ends, and the position after the last block.

    Raises:
        WalkError: it does not end.
    """
    starts: list[int] = []
    ends: list[int] = []
    while True:
        count, at = varint(data, at, end)
        if count == 0:
            return starts, ends, at
        if count < 0:
            _, at = varint(data, at, end)
            count = -count
        at = some_items(data, (at, end), skips, least, count, (starts, ends))


def some_items(
    data: memoryview,
    span: tuple[int, int],
    skips: tuple[Skip, ...],
    least: int,
    count: int,
    places: tuple[list[int], list[int]],
) -> int:
    """Add where so many items begin and end; the position after them.

    Raises:
        WalkError: they do not end.
    """
    at, end = span
    if count * least > end - at:
        raise WalkError(TOO_MANY)
    if not least:
        return at  # items without bytes are not read
    starts, ends = places
    for _ in range(count):
        starts.append(at)
        for skip in skips:
            at = skip(data, at, end)
        ends.append(at)
    return at


TOO_MANY = "an array or a map has more items than there are bytes"


@lru_cache(maxsize=1024)
def skip_of(kind: Type) -> Skip:
    """What passes over values of a type."""
    if is_fixed(kind):
        return _fixed(width_of(kind))
    if kind.kind in {"string", "bytes"}:
        return _counted
    if kind.kind == "record":
        return _record(tuple(skip_of(one.type) for one in kind.fields))
    if kind.kind in {"union", "only"}:
        skips = tuple(map(skip_of, kind.inner))
        return _union(skips) if kind.kind == "union" else skips[0]
    if kind.kind in {"array", "map"}:
        keys = (_counted,) if kind.kind == "map" else ()
        return _items((*keys, skip_of(kind.inner[0])), len(keys) + width_of(kind.inner[0]))
    return _number


def _fixed(width: int) -> Skip:
    def skip(_: memoryview, at: int, end: int) -> int:
        if at + width > end:
            raise WalkError(CUT_OFF)
        return at + width

    return skip


def _number(data: memoryview, at: int, end: int) -> int:
    return varint(data, at, end)[1]


def _counted(data: memoryview, at: int, end: int) -> int:
    length, at = varint(data, at, end)
    if length < 0:
        raise WalkError("a length is negative")
    if at + length > end:
        raise WalkError(CUT_OFF)
    return at + length


def _record(skips: tuple[Skip, ...]) -> Skip:
    def skip(data: memoryview, at: int, end: int) -> int:
        for one in skips:
            at = one(data, at, end)
        return at

    return skip


def _union(skips: tuple[Skip, ...]) -> Skip:
    def skip(data: memoryview, at: int, end: int) -> int:
        branch, at = varint(data, at, end)
        if not 0 <= branch < len(skips):
            raise WalkError(NO_BRANCH.format(len(skips)))
        return skips[branch](data, at, end)

    return skip


NO_BRANCH = "a union of {} types has no such one"


def _items(skips: tuple[Skip, ...], least: int) -> Skip:
    def skip(data: memoryview, at: int, end: int) -> int:
        return items(data, at, end, skips, least)[2]

    return skip
