"""Small files on their way into a store while the next ones are encoded.

A bucket answers a write after tens of milliseconds, however small it is, and takes hundreds at
once; a disk answers at once, and is written by the caller. What is in the files is `data_file`'s.
"""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Self

import pyarrow as pa

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import Store

_AT_ONCE = 32
"""Files on their way at once, of one task: at 20 ms a write, what a core encodes in that time."""

_MOST_BYTES = 32 * 1024 * 1024
"""Of files that are on their way."""

_LARGEST = 8 * 1024 * 1024
"""Bytes in memory of the rows of a file that is handed over: a bucket takes a larger one in parts,
which are on their way while the next are encoded."""


class Uploads:
    """Writes files whole, several at once where the store is far away; of one thread.

    At the end of its `with` block all files are there, or none that it wrote if the block fails.
    """

    def __init__(self, store: Store) -> None:
        """Nothing is under way."""
        self.store = store
        far = not store.root.is_local
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="upload") if far else None
        self._under_way: deque[tuple[Future[None], int]] = deque()
        self._bytes = 0
        self._begun: list[LakeUri] = []

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for what is under way; delete all that was written, if the block failed."""
        has_failed = kind is not None and issubclass(kind, Exception)  # a generator's end is none
        try:
            if kind is None:
                self.settle()
        except BaseException:
            has_failed = True
            raise
        finally:
            if self._pool is not None:
                self._pool.shutdown(cancel_futures=True)
            if has_failed:
                self._delete()

    def takes(self, rows_bytes: int) -> bool:
        """Whether a file of so many bytes of rows had better be handed over than written here."""
        return self._pool is not None and rows_bytes < _LARGEST

    def put(self, file: LakeUri, content: pa.Buffer) -> None:
        """Write a file, perhaps only by the next `settle`.

        Raises:
            LakeError: it or one before it cannot be written.
        """
        self.wrote(file)
        if self._pool is None:
            self._write(file, content)
            return
        while self._under_way and self._bytes + content.size > _MOST_BYTES:
            self._await_one()
        self._bytes += content.size
        self._under_way.append((self._pool.submit(self._write, file, content), content.size))

    def wrote(self, file: LakeUri) -> None:
        """Remember a file that the caller writes, or is about to, to delete it with the others."""
        self._begun.append(file)

    def settle(self) -> None:
        """Wait until all files are there; raises as `put`."""
        while self._under_way:
            self._await_one()

    def _await_one(self) -> None:
        done, size = self._under_way.popleft()
        self._bytes -= size
        done.result()

    def _write(self, file: LakeUri, content: pa.Buffer) -> None:
        with self.store.open_for_writing(file) as stream:
            stream.write(content)

    def _delete(self) -> None:
        for file in self._begun:
            with suppress(LakeError):  # what failed before is what is to be told
                self.store.delete(file)
