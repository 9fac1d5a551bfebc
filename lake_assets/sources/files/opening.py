"""A file as a stream of UTF-8: decompressed, of any encoding, no more than was found of it.

What its lines are is `sources.files.cutting`'s.
"""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Protocol, cast

import pyarrow as pa

from lake_assets.model.files_source import FilesSource

_BUFFER_BYTES = 1024 * 1024

_ENDINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}


class BadFileError(Exception):
    """What is in a file is not what it should be: told in words, with no row of it read."""


class Opener(Protocol):
    """Opens a file of a place."""

    def __call__(self, *, reads_on: bool = False) -> io.RawIOBase:
        """A file's bytes, as they are, to be read from any place.

        Args:
            reads_on: whether they are read one after the other, so that more may be asked for than
                was read so far.

        Raises, as do reads:
            FileNotFoundError: it is not there.
            BadFileError: it is another than was looked at, or cannot be read whoever asks.
            OSError: with a number: the disk does not give it.
            SourceError: the bucket does not give it.
        """


class Reading(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, fewer only at the end."""


def codec_of(source: FilesSource, name: str) -> str | None:
    """How a file is compressed, by its name or as it is declared; None if it is not."""
    if source.compression != "auto":
        return None if source.compression == "none" else source.compression
    return next((codec for ending, codec in _ENDINGS.items() if name.endswith(ending)), None)


def is_plain(source: FilesSource, name: str) -> bool:
    """Whether a byte of the stream is a byte of the file, so that it can be begun anywhere."""
    return codec_of(source, name) is None and source.encoding == "utf-8"


@contextmanager
def opened(
    source: FilesSource, name: str, file: Opener, size: int, *, position: int = 0
) -> Iterator[Reading]:
    """A file's first bytes, as UTF-8.

    Args:
        source: what is known of its files.
        name: of the file.
        file: opens it.
        size: its bytes when it was found: what came since is not read.
        position: of a plain file, the byte to begin at.

    Raises:
        FileNotFoundError: it is not there.
        BadFileError: it is cut off, of another compression or encoding; when it is read.
        OSError: the disk does not give it.
        SourceError: the bucket does not give it.
    """
    with file(reads_on=True) as raw:
        raw.seek(position)
        stream: Any = io.BufferedReader(_First(raw, size - position), _BUFFER_BYTES)
        codec = codec_of(source, name)
        if codec == "gzip":
            # Takes several members, and zeros behind one, by which blocks of tapes are filled up.
            stream = gzip.GzipFile(fileobj=stream)
        elif codec is not None:
            stream = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), codec)
        if source.encoding != "utf-8":
            stream = _Text(io.TextIOWrapper(stream, encoding=source.encoding, newline=""))
        yield _Told(stream)


@contextmanager
def seekable(file: Opener, size: int) -> Iterator[BinaryIO]:
    """A file's first bytes as they are, for who reads it from its end.

    Args:
        file: opens it.
        size: its bytes when it was found: what came since is not there.

    Raises:
        FileNotFoundError: it is not there.
        OSError: the disk does not give it.
        SourceError: the bucket does not give it.
    """
    with file() as raw:
        yield cast("BinaryIO", _Seekable(raw, size))


class _Seekable(io.RawIOBase):
    """So many bytes of a file, at any place."""

    def __init__(self, raw: io.RawIOBase, size: int) -> None:
        super().__init__()
        self._raw, self._size = raw, size

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        if whence == io.SEEK_END:
            return self._raw.seek(self._size + offset)
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - whatever takes bytes
        wanted = memoryview(buffer)[: max(0, self._size - self._raw.tell())]
        return (self._raw.readinto(wanted) or 0) if len(wanted) else 0


class _First(io.RawIOBase):
    """So many bytes of a file."""

    def __init__(self, raw: io.RawIOBase, left: int) -> None:
        super().__init__()
        self._raw, self._left = raw, left

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - whatever takes bytes
        wanted = memoryview(buffer)[: max(0, self._left)]
        count = self._raw.readinto(wanted) if len(wanted) else 0
        self._left -= count or 0
        return count or 0


class _Text:
    """A stream of text, in UTF-8."""

    def __init__(self, text: io.TextIOWrapper) -> None:
        self._text = text

    def read(self, size: int, /) -> bytes:
        return self._text.read(size).encode()


class _Told:
    """A stream whose errors tell what is wrong with the file."""

    def __init__(self, stream: Reading) -> None:
        self._stream = stream

    def read(self, size: int, /) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except UnicodeError as problem:
            raise BadFileError(f"is not of its encoding: {problem}") from problem
        except (OSError, EOFError, zlib.error, pa.ArrowInvalid) as problem:
            if is_of_disk(problem):
                raise
            raise BadFileError(f"cannot be decompressed: {problem}") from problem


def is_of_disk(problem: BaseException) -> bool:
    """Whether it is the disk that does not give a file. Arrow's own errors have no number."""
    return isinstance(problem, OSError) and problem.errno is not None


def is_forbidden(problem: OSError) -> bool:
    """Whether a file may not be read by us, which trying again does not change."""
    return isinstance(problem, PermissionError)
