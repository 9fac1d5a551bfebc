"""A block of an Avro container expanded, to no more than a block may be."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Mapping
from typing import Protocol

import pyarrow as pa

from lake_assets.sources.files.avro_container import MOST_BLOCK


class BadBlockError(Exception):
    """What is wrong with a block, in words; others may be read."""


class _Expander(Protocol):
    @property
    def eof(self) -> bool:
        """Whether the end was found."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """So many bytes at most."""


def expand(codec: str, data: bytes) -> bytes:
    """What a block's bytes are without their compression.

    Raises:
        BadBlockError: they are no such compressed ones, or too many.
    """
    if codec not in CODECS:
        known = ", ".join(CODECS)
        raise BadBlockError(f"is compressed by {codec[:40]!r}, where {known} can be read")
    try:
        return CODECS[codec](data)
    except (zlib.error, OSError, EOFError, lzma.LZMAError, pa.ArrowException) as problem:
        raise BadBlockError(f"cannot be expanded by {codec} ({problem})") from problem


def _too_large() -> BadBlockError:
    return BadBlockError(f"has more than {MOST_BLOCK // 1024 // 1024} MiB, which a block may have")


def _whole(made: _Expander, data: bytes) -> bytes:
    found = made.decompress(data, MOST_BLOCK + 1)
    if len(found) > MOST_BLOCK:
        raise _too_large()
    if not made.eof:
        raise EOFError("it ends too early")
    return found


def _snappy(data: bytes) -> bytes:
    """Raw Snappy, which begins with its size, and the CRC-32 of what it expands to."""
    size = shift = 0
    for octet in data[:5]:
        size |= (octet & 0x7F) << shift
        shift += 7
        if octet < 0x80:  # noqa: PLR2004 - the bit that says that another follows
            break
    if size > MOST_BLOCK:
        raise _too_large()
    found = pa.Codec("snappy").decompress(data[:-4], size, asbytes=True)
    if zlib.crc32(found) != int.from_bytes(data[-4:], "big"):
        raise BadBlockError("has another checksum than it says")
    return bytes(found)


def _zstandard(data: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
        found = bytes(stream.read(MOST_BLOCK + 1))
    if len(found) > MOST_BLOCK:
        raise _too_large()
    return found


CODECS: Mapping[str, Callable[[bytes], bytes]] = {
    "null": lambda data: data,
    "deflate": lambda data: _whole(zlib.decompressobj(-zlib.MAX_WBITS), data),
    "snappy": _snappy,
    "zstandard": _zstandard,
    "bzip2": lambda data: _whole(bz2.BZ2Decompressor(), data),
    "xz": lambda data: _whole(lzma.LZMADecompressor(), data),
}
"""By the name in a container's header."""
