"""An Avro object container file: its header, and its blocks one after the other, still compressed.

What a block holds is `avro_blocks`'; nothing is trusted that the file says of its sizes.
https://avro.apache.org/docs/1.12.0/specification/#object-container-files
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import fastavro
from fastavro.schema import fingerprint

from lake_assets.model.avro_json import without_defaults
from lake_assets.sources.files.opening import BadFileError, Reading

MAGIC = b"Obj\x01"

MOST_BLOCK = 256 * 1024 * 1024
"""Bytes of a block, as it is stored and as it is once expanded: it is in memory some times over."""

_MOST_HEADER = 16 * 1024 * 1024
"""Bytes of a header. A schema of ten thousand fields has one."""

_SYNC_BYTES = 16
_LONGEST = 10
"""Bytes of a varint of 64 bits."""

_SHOWN = 300
"""Characters of what is wrong with a schema."""

_PIECE = 1024 * 1024

MARKER = b"\xc3\x01"
"""What a datum begins with in Avro's single-object encoding; the fingerprint of its schema follows,
eight bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """What a container says of its blocks."""

    schema: str
    """Of the writer: JSON, its names in order and without spaces."""

    codec: str
    sync: bytes
    size: int
    """Bytes of the header: where the first block begins."""

    @property
    def prefix(self) -> bytes:
        """What each record begins with in bronze."""
        return MARKER + fingerprint_of(self.schema)


@dataclass(frozen=True, kw_only=True, slots=True)
class Block:
    """Some records of a container."""

    position: int
    """Where it begins in the file."""

    first: int
    """The number of its first record, from 0."""

    count: int
    """Of its records, as it says."""

    data_position: int
    """Where its records begin in the file."""

    size: int
    data: bytes | None
    """Compressed; None where nobody wants it."""


@lru_cache(maxsize=64)
def fingerprint_of(schema: str) -> bytes:
    """CRC-64-AVRO of a whole schema, as the single-object encoding has it: little-endian.

    Of the whole one, since the canonical form of the specification leaves out what decoding hangs
    on: logical types, defaults, aliases.
    """
    return bytes.fromhex(fingerprint(schema, "CRC-64-AVRO"))


def schema_id(schema: str) -> int:
    """The fingerprint as a number: `schema_id` of the rows."""
    return int.from_bytes(fingerprint_of(schema), "little", signed=True)


def read_header(stream: Reading) -> Header:
    """The header that a stream begins with.

    Raises:
        BadFileError: it is none, or one of records that have no columns.
    """
    bytes_ = _Bytes(stream, 0)
    if bytes_.take(len(MAGIC)) != MAGIC:
        raise BadFileError("is no Avro object container file")
    try:
        told = _metadata(bytes_)
        sync = bytes_.take(_SYNC_BYTES)
    except EOFError as problem:
        raise BadFileError("is cut off in its header") from problem
    return Header(
        schema=_schema(told.get("avro.schema", b"")),
        codec=told.get("avro.codec", b"null").decode(errors="replace"),
        sync=sync,
        size=bytes_.position,
    )


def blocks(
    stream: Reading,
    header: Header,
    *,
    position: int,
    first: int = 0,
    wants: Callable[[int, int], bool] = lambda *_: False,
) -> Iterator[Block]:
    """The blocks of a container, as long as they are as they should be.

    Args:
        stream: at the begin of a block.
        header: of the container.
        position: of that block in the file.
        first: the number of its first record.
        wants: whether a block's data is wanted, by the number of its first record and how many
            there are; what is too large is not given anyway.

    Raises:
        BadFileError: the file goes on with something else: it is cut off, or damaged.
    """
    bytes_ = _Bytes(stream, position)
    while True:
        begin = bytes_.position
        try:
            count = bytes_.varint(may_end=True)
            if count is None:
                return
            size = bytes_.varint()
            if count < 0 or size is None or size < 0 or count > _most_records(header, size):
                raise BadFileError(f"has no block at byte {begin}, where one should begin")
            place = bytes_.position
            data = None
            if size <= MOST_BLOCK and wants(first, count):
                data = bytes_.take(size)
            else:
                bytes_.skip(size)
            sync = bytes_.take(_SYNC_BYTES)
        except EOFError as problem:
            raise BadFileError(f"is cut off in the block at byte {begin}") from problem
        if sync != header.sync:
            fact = f"is damaged: the block at byte {begin} does not end with the file's sync marker"
            raise BadFileError(fact)
        yield Block(
            position=begin,
            first=first,
            count=count,
            data_position=place,
            size=size,
            data=data,
        )
        first += count


def _most_records(header: Header, size: int) -> int:
    """How many records a block may say it has: each has a byte at least."""
    return size if header.codec == "null" else MOST_BLOCK


@dataclass
class _Bytes:
    """A stream, and where it is."""

    stream: Reading
    position: int

    def take(self, size: int) -> bytes:
        parts, left = [], size
        while left:
            part = self.stream.read(min(left, _PIECE))
            if not part:
                raise EOFError
            self.position += len(part)
            left -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip(self, size: int) -> None:
        while size:
            part = self.stream.read(min(size, _PIECE))
            if not part:
                raise EOFError
            self.position += len(part)
            size -= len(part)

    def varint(self, *, may_end: bool = False) -> int | None:
        """A zigzag number; None at the end of the stream, where that may be."""
        value = 0
        for place in range(_LONGEST):
            octet = self.stream.read(1)
            if not octet:
                if may_end and not place:
                    return None
                raise EOFError
            self.position += 1
            value |= (octet[0] & 0x7F) << (7 * place)
            if octet[0] < 0x80:  # noqa: PLR2004 - the bit that says that another follows
                return (value >> 1) ^ -(value & 1)
        raise BadFileError(f"has no length at byte {self.position - _LONGEST}")


def _metadata(bytes_: _Bytes) -> dict[str, bytes]:
    """The header's map of bytes."""
    told: dict[str, bytes] = {}
    while count := bytes_.varint():
        if count < 0:
            bytes_.varint()
        for _ in range(abs(count)):
            key = bytes_.take(_length(bytes_)).decode(errors="replace")
            told[key] = bytes_.take(_length(bytes_))
    return told


def _length(bytes_: _Bytes) -> int:
    length = bytes_.varint() or 0
    if not 0 <= length <= _MOST_HEADER - bytes_.position:
        raise BadFileError(f"has a header that is none, or is longer than {_MOST_HEADER:,} bytes")
    return length


def in_words(problem: Exception) -> str:
    """What fastavro raised, in words that a row can hold, whatever the schema has of them."""
    words = f"{type(problem).__name__}: {problem}"[:_SHOWN]
    return words.encode(errors="backslashreplace").decode()


def _schema(text: bytes) -> str:
    """A schema as text that is the same for the same one."""
    try:
        found = json.loads(text)
        # One that is no value of its type makes rows of other writers wrong, and none of its own.
        root = fastavro.parse_schema(without_defaults(found))
    except RecursionError as problem:
        raise BadFileError("has a schema that is nested too deeply") from problem
    except Exception as problem:
        # fastavro raises what Python does at a schema of the wrong shape: KeyError, TypeError, …
        raise BadFileError(f"has no schema in its header ({in_words(problem)})") from problem
    if not isinstance(root, dict) or root.get("type") != "record":
        raise BadFileError("has values that are no records, so that no columns have names")
    return json.dumps(found, sort_keys=True, separators=(",", ":"))
