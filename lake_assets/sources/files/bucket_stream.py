"""A file of a bucket as a stream from any place: ranges of the content that was looked at.

Who reads on gets more and more at once, since each request costs as much as a megabyte; who goes
from place to place, as a reader of Parquet does, gets what was asked for.
"""

import errno
import io
from collections.abc import Callable
from typing import Any

from lake_assets.sources.files.opening import BadFileError
from lake_assets.storage.bucket_files import ColdFileError, ObjectSeen, OtherContentError

_MOST_AHEAD = 4 * 1024 * 1024
"""Bytes that are asked for at once of a file that is read on. More holds more in memory, and what
is behind a part of a file is read for nothing; by less, requests' round trips are what takes time.
"""


class BucketStream(io.RawIOBase):
    """A file as it was seen."""

    def __init__(
        self,
        seen: ObjectSeen,
        name: str,
        read: Callable[[ObjectSeen, int, int], bytes],
        *,
        reads_on: bool = False,
    ) -> None:
        """Open it; nothing is asked yet.

        Args:
            seen: which content.
            name: of the file, for errors.
            read: gives bytes from one to before another, as `BucketFiles.read`.
            reads_on: as `opening.Opener` has it.
        """
        super().__init__()
        self._seen, self._name, self._read, self._reads_on = seen, name, read, reads_on
        self._at = 0
        self._got, self._got_from = b"", 0

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place; nothing is asked."""
        begins = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._seen.size}
        self._at = max(0, begins[whence] + offset)
        return self._at

    def tell(self) -> int:
        """The place of the next byte."""
        return self._at

    def readinto(self, buffer: Any, /) -> int:  # noqa: ANN401 - whatever takes bytes
        """Some of the next bytes; raises as `opening.Opener` says."""
        wanted = memoryview(buffer).cast("B")
        if not len(wanted) or self._at >= self._seen.size:
            return 0
        if not self._got_from <= self._at < self._got_from + len(self._got):
            self._fetch(len(wanted))
        begin = self._at - self._got_from
        part = self._got[begin : begin + len(wanted)]
        wanted[: len(part)] = part
        self._at += len(part)
        return len(part)

    def _fetch(self, size: int) -> None:
        ahead = min(_MOST_AHEAD, 2 * len(self._got)) if self._reads_on else 0
        end = min(self._seen.size, self._at + max(size, ahead))
        try:
            self._got = self._read(self._seen, self._at, end)
        except FileNotFoundError as problem:
            raise FileNotFoundError(errno.ENOENT, "is not there any more", self._name) from problem
        except OtherContentError as problem:
            raise BadFileError("was rewritten while it was read") from problem
        except ColdFileError as problem:
            words = "is in a class of storage that is not read: restore it under another name"
            raise BadFileError(words) from problem
        self._got_from = self._at
