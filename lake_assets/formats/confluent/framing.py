"""What the header of a framed message says: magic byte, schema id, and where its message stands.

Vectorized; what is looked at one by one in Python are distinct headers, not rows. The id itself is
read on the way into bronze, and in envelopes.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.confluent.schemas import FIRST, Path

START = 5
"""Bytes of magic byte and id."""

_DEEPEST = 16
"""Indices that a header may have: how deep messages may nest. Protobuf's own readers stop at 100
levels; nobody has five, and random bytes should not be taken for more."""

_LONGEST = 5
"""Bytes of a varint of 32 bits."""

_CONTINUED = 0x80
"""Bit of a varint's byte that says that another follows."""

IdReader: TypeAlias = Callable[[pa.Array], pa.Array]
"""From values, the id of the schema that each begins with; null of those that begin otherwise."""

SHORT = b"\0"
"""All of the path where it is the schema's first message; the only one that `ptars` understands."""

_MAGIC = b"\0"


@dataclass(frozen=True, slots=True)
class Header:
    """A path, and how many bytes it takes."""

    path: Path
    length: int


@dataclass(frozen=True, slots=True)
class Headers:
    """The header of each row."""

    kinds: tuple[Header | None, ...]
    """Distinct ones; None stands for bytes that are no path."""

    which: pa.Array
    """int64, one a row: index into `kinds`."""


def schema_ids(values: pa.Array) -> pa.Array:
    """The id in each value's Confluent framing, else null: int64.

    A zero byte, then four bytes, big-endian, unsigned:
    https://docs.confluent.io/platform/current/schema-registry/fundamentals/serdes-develop/
    """
    starts = pc.equal(pc.binary_slice(values, 0, 1), _MAGIC)
    is_long = pc.greater_equal(pc.binary_length(values), START)
    framed = pc.and_(starts, is_long).fill_null(fill_value=False)
    heads = pc.binary_slice(values.filter(framed), 1, START).cast(pa.binary(4))
    numbers = np.frombuffer(heads.buffers()[1] or b"", dtype=">u4", count=len(heads))
    ids = pa.array(numbers.astype(np.int64))
    return pc.replace_with_mask(pa.nulls(len(values), pa.int64()), framed, ids)


def with_ids(bodies: pa.Array, ids: pa.Array, path: bytes) -> pa.Array:
    """Bytes without framing, framed with ids that stand elsewhere; null where either is null.

    Args:
        bodies: binary.
        ids: int64, each in the range of a schema's id, one a body.
        path: what stands after each id.
    """
    is_whole = pc.and_(pc.is_valid(bodies), pc.is_valid(ids))
    numbers = ids.fill_null(0).to_numpy(zero_copy_only=False).astype(">u4")
    heads = np.zeros((len(ids), START), np.uint8)
    heads[:, 1:] = numbers.view(np.uint8).reshape(len(ids), START - 1)
    kind = pa.binary(START)
    framing = pa.Array.from_buffers(kind, len(ids), [None, pa.py_buffer(heads)]).cast(pa.binary())
    whole = pc.binary_join_element_wise(framing, bodies, pa.scalar(path, pa.binary()))
    return pc.if_else(is_whole, whole, pa.scalar(None, pa.binary()))


def is_short(values: pa.Array) -> pa.Array:
    """Whether each value names the first message in the shortest way; null where it is null."""
    return pc.equal(pc.binary_slice(values, START, START + 1), SHORT)


def headers_of(values: pa.Array) -> Headers:
    """Read the path after the id of each value; null values have none."""
    kinds: dict[Header | None, int] = {Header(FIRST, 1): 0}
    which = pc.if_else(is_short(values).fill_null(fill_value=False), 0, None).cast(pa.int64())
    width = 1
    while which.null_count:
        open_rows = pc.indices_nonzero(pc.is_null(which))
        heads = pc.binary_slice(values.take(open_rows), START, START + width)
        encoded = heads.dictionary_encode()
        answers, needs = [], []
        for head in encoded.dictionary.to_pylist():
            answer = parse(head)
            needs.append(answer if isinstance(answer, int) else None)
            is_lost = isinstance(answer, int) and len(head) < width
            kind = None if is_lost or isinstance(answer, int) else answer
            is_open = isinstance(answer, int) and not is_lost
            answers.append(None if is_open else kinds.setdefault(kind, len(kinds)))
        none = kinds.setdefault(None, len(kinds))
        codes = pa.array(answers, pa.int64()).take(encoded.indices)
        codes = pc.if_else(pc.is_null(heads), none, codes)
        which = pc.replace_with_mask(which, pc.is_null(which), codes)
        width = min(
            (need for need in needs if need is not None and need > width), default=width + 1
        )
    return Headers(tuple(kinds), which)


def strip(values: pa.Array, headers: Headers) -> pa.Array:
    """The values with every path written as `SHORT`, for a decoder that is told the message."""
    for code, header in enumerate(headers.kinds):
        if header is None or header == Header(FIRST, 1):
            continue
        cut = pc.binary_replace_slice(values, START, START + header.length, SHORT)
        values = pc.if_else(pc.equal(headers.which, code), cut, values)
    return values


def parse(head: bytes) -> Header | int | None:
    """The path at the beginning of `head`.

    Returns:
        None if these bytes are no path, and if they break off, how many it takes at least.
    """
    varints = list(_varints(head))
    count, end = varints[0] if varints else (0, 0)
    if varints and count == 0:
        return Header(FIRST, end)
    path = varints[1 : count + 1]
    if count not in range(_DEEPEST + 1) or any(index < 0 for index, _ in path):
        return None
    if varints and len(path) == count:
        return Header(tuple(index for index, _ in path), path[-1][1])
    read = path[-1][1] if path else end
    is_overlong = len(head) - read >= _LONGEST
    return None if is_overlong else max(len(head) + 1, read + count - len(path))


def _varints(head: bytes) -> Iterator[tuple[int, int]]:
    """The zigzag varints in `head` that are whole, each with the position after it."""
    value = shift = 0
    for position, byte in enumerate(head, 1):
        value |= (byte & ~_CONTINUED) << shift
        shift += 7
        if not byte & _CONTINUED:
            yield (value >> 1) ^ -(value & 1), position
            value = shift = 0
        elif shift >= 7 * _LONGEST:
            return
