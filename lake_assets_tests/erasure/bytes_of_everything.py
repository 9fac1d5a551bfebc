"""An independent look for values: the bytes of every file of a folder, or object of a bucket.

Uses nothing of the product: what it reads and unpacks it does by pyarrow and Python's own modules.
"""

import bz2
import gzip
import io
import json
import lzma
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, S3FileSystem


def files_of(folder: Path) -> Iterator[tuple[str, bytes]]:
    """All files below a folder, hidden ones too."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            yield str(path.relative_to(folder)), path.read_bytes()


def objects_of(url: str, bucket: str) -> Iterator[tuple[str, bytes]]:
    """All objects of a bucket."""
    server = url.removeprefix("http://")
    files = S3FileSystem(
        access_key="test",
        secret_key="test",  # noqa: S106 - a server's of the tests
        region="us-east-1",
        scheme="http",
        endpoint_override=server,
    )
    for info in files.get_file_info(FileSelector(bucket, recursive=True)):
        if info.is_file:
            with files.open_input_stream(info.path) as stream:
                yield info.path, stream.read()


def holders(files: Iterable[tuple[str, bytes]], *values: str | int) -> list[str]:
    """Names of the files that have one of these values anywhere, as it is or packed."""
    return [name for name, content in files if has(content, *values)]


def has(content: bytes, *values: str | int) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    forms = {form for text in texts for form in _forms(text)}
    return _has(content, forms, {value for value in values if isinstance(value, int)}, 0)


def _forms(text: str) -> Iterator[bytes]:
    """As it is, and as JSON, JSON in JSON, and JSON in that write it."""
    written = {text}
    for _ in range(4):
        yield from (one.encode() for one in written)
        yield from (one.replace("/", "\\/").encode() for one in written)
        written = {json.dumps(o, ensure_ascii=a)[1:-1] for o in written for a in (True, False)}


def _has(content: bytes, forms: set[bytes], numbers: set[int], depth: int) -> bool:
    if any(form in content for form in forms):
        return True
    if content[:4] == content[-4:] == b"PAR1":
        return _in_rows(content, forms, numbers)
    if any(_in_digits(content, number) for number in numbers):
        return True
    return depth < 4 and any(_has(inner, forms, numbers, depth + 1) for inner in _unpacked(content))


def _in_digits(content: bytes, number: int) -> bool:
    return re.search(rb"(?<![0-9])%d(?![0-9])" % number, content) is not None


def _in_rows(content: bytes, forms: set[bytes], numbers: set[int]) -> bool:
    try:
        rows = pq.read_table(pa.BufferReader(content), partitioning=None).to_pylist()
    except (pa.ArrowException, OSError):
        return False
    return any(_in_value(value, forms, numbers) for row in rows for value in row.values())


def _in_value(value: object, forms: set[bytes], numbers: set[int]) -> bool:
    if isinstance(value, dict):
        return any(_in_value(one, forms, numbers) for one in value.values())
    if isinstance(value, list | tuple):
        return any(_in_value(one, forms, numbers) for one in value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return _has(value, forms, numbers, 3)
    return not isinstance(value, bool) and isinstance(value, int) and value in numbers


def _unpacked(content: bytes) -> Iterator[bytes]:
    """What is packed in some bytes, if they are packed."""
    unpack: dict[bytes, Callable[[bytes], bytes]] = {
        b"\x1f\x8b": gzip.decompress,
        b"BZh": bz2.decompress,
        b"\xfd7zXZ\x00": lzma.decompress,
        b"x\x9c": zlib.decompress,
        b"\x28\xb5\x2f\xfd": _zstd,
    }
    for magic, decompress in unpack.items():
        if content.startswith(magic):
            try:
                yield decompress(content)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError):
                return
    if content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            yield from (archive.extractfile(one).read() for one in archive if one.isfile())
    if content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from (archive.read(name) for name in archive.namelist())


def _zstd(content: bytes) -> bytes:
    with pa.CompressedInputStream(pa.BufferReader(content), "zstd") as stream:
        return bytes(stream.read())
