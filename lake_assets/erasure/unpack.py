"""What is packed in a file: archives and compressed files, one file out of them at a time."""

import bz2
import gzip
import io
import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import BinaryIO

import pyarrow as pa

MOST = 512 << 20
"""Bytes of one file out of an archive; of a larger one nothing is looked at, and that is told."""

_BLOCK = struct.Struct("<8sBiii")
"""Of what a Spark job writes for another: magic, how it is packed, sizes packed and not, checksum.
Format: LZ4BlockOutputStream of lz4-java."""

_BLOCK_MAGIC, _AS_IT_IS, _WITH_LZ4 = b"LZ4Block", 0x10, 0x20

_TAR_MAGIC = slice(257, 262)

_PIECE = 1 << 20


class UnreadableError(Exception):
    """What is packed is damaged, or too large."""


def _with_arrow(codec: str) -> Callable[[BinaryIO], BinaryIO]:
    return lambda packed: pa.CompressedInputStream(pa.PythonFile(packed), codec)


_COMPRESSED: Mapping[bytes, Callable[[BinaryIO], BinaryIO]] = {
    b"\x1f\x8b": lambda packed: gzip.GzipFile(fileobj=packed),  # type: ignore[dict-item,return-value]
    b"BZh": bz2.BZ2File,  # type: ignore[dict-item]
    b"\xfd7zXZ\x00": lzma.LZMAFile,  # type: ignore[dict-item]
    b"\x28\xb5\x2f\xfd": _with_arrow("zstd"),
    b"\x04\x22\x4d\x18": _with_arrow("lz4"),
}
"""By how a file begins, what unpacks it."""

_UNKNOWN: Mapping[bytes, str] = {
    b"\xff\x06\x00\x00sNaPpY": "is packed by Snappy",
    b"7z\xbc\xaf\x27\x1c": "is a 7z archive",
}

_PROBLEMS = (
    OSError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    pa.ArrowException,
    NotImplementedError,
)


def unpacked(content: BinaryIO, head: bytes) -> Iterator[tuple[str, bytes]]:
    """The files that one is packed of, with their names; none if it is not packed.

    Args:
        content: of a file that is closed by the caller.
        head: its first bytes, 512 or all.

    Raises:
        UnreadableError: it cannot be unpacked. What came before can.
    """
    for magic, why in _UNKNOWN.items():
        if head.startswith(magic):
            raise UnreadableError(why)
    try:
        yield from _parts(content, head)
    except _PROBLEMS as problem:
        reason = f"cannot be unpacked ({problem})"
        raise UnreadableError(reason) from problem


def _parts(content: BinaryIO, head: bytes) -> Iterator[tuple[str, bytes]]:
    for magic, opened in _COMPRESSED.items():
        if head.startswith(magic):
            yield "unpacked", _bounded(opened(content))
            return
    if head.startswith(_BLOCK_MAGIC):
        yield "unpacked", _of_blocks(content)
    elif head[_TAR_MAGIC] == b"ustar":
        yield from _of_tar(content)
    elif head.startswith(b"PK\x03\x04"):
        yield from _of_zip(content)
    elif head[:1] == b"x" and int.from_bytes(head[:2]) % 31 == 0:
        raw = _inflated(content)
        if raw is not None:
            yield "unpacked", raw


def _bounded(stream: BinaryIO) -> bytes:
    out = io.BytesIO()
    while piece := stream.read(_PIECE):
        out.write(piece)
        if out.tell() > MOST:
            reason = f"has more than {MOST >> 20} MB when it is unpacked"
            raise UnreadableError(reason)
    return out.getvalue()


def _of_blocks(content: BinaryIO) -> bytes:
    out = io.BytesIO()
    while header := content.read(_BLOCK.size):
        if len(header) < _BLOCK.size or not header.startswith(_BLOCK_MAGIC):
            raise UnreadableError("has no whole blocks")
        _, token, packed, size, _ = _BLOCK.unpack(header)
        block = content.read(packed)
        if out.tell() + size > MOST or packed < 0 or size < 0:
            raise UnreadableError("has blocks that are too large")
        if token & 0xF0 == _WITH_LZ4:
            out.write(pa.decompress(block, size, codec="lz4_raw", asbytes=True))
        elif token & 0xF0 == _AS_IT_IS:
            out.write(block)
        else:
            raise UnreadableError("has blocks that are packed in another way")
    return out.getvalue()


def _of_tar(content: BinaryIO) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=content, mode="r:") as archive:
        for entry in archive:
            stream = archive.extractfile(entry)
            if stream is not None:
                yield entry.name, _bounded(stream)  # type: ignore[arg-type]


def _of_zip(content: BinaryIO) -> Iterator[tuple[str, bytes]]:
    with zipfile.ZipFile(content) as archive:
        for name in archive.namelist():
            with archive.open(name) as stream:
                yield name, _bounded(stream)  # type: ignore[arg-type]


def _inflated(content: BinaryIO) -> bytes | None:
    """What zlib packed; None if the file only begins as if."""
    raw, found = zlib.decompressobj(), io.BytesIO()
    try:
        while piece := content.read(_PIECE):
            found.write(raw.decompress(piece, MOST))
            if raw.unconsumed_tail or found.tell() > MOST:
                reason = f"has more than {MOST >> 20} MB when it is unpacked"
                raise UnreadableError(reason)
    except zlib.error:
        return None
    return found.getvalue()
