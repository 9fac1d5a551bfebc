"""Small files of a bucket, asked for before it is their turn, some at once.

A request takes as long as a megabyte, and files are counted and read one after the other: without
this, ten thousand small ones would take ten minutes for their round trips alone.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from lake_assets.storage.bucket_files import ObjectSeen

SMALL_BYTES = 512 * 1024
"""Of a file that is asked for as a whole."""

_AT_ONCE = 16
"""Requests on their way at once."""

_HELD = 32
"""Files that are held at most, with 16 MiB together; each task has its own."""

Read = Callable[[ObjectSeen, int, int], bytes]


class ReadAhead:
    """Files that were asked for and not taken; used by one thread."""

    def __init__(self, read: Read) -> None:
        """Ask by `read`, which several threads may call."""
        self._read = read
        self._asked: dict[ObjectSeen, Future[bytes]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def ask(self, files: Iterable[ObjectSeen]) -> None:
        """Ask for those of some files that are small, and forget all others that nobody took."""
        wanted = {one for one in files if one.etag and 0 < one.size <= SMALL_BYTES}
        for gone in self._asked.keys() - wanted:
            self._asked.pop(gone).cancel()
        for one in files:
            if one in wanted and one not in self._asked and len(self._asked) < _HELD:
                self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE)
                self._asked[one] = self._pool.submit(self._read, one, 0, one.size)

    def take(self, seen: ObjectSeen) -> Read | None:
        """What gives a file's bytes that was asked for, and raises what that did; else None."""
        future = self._asked.pop(seen, None)
        if future is None:
            return None
        return lambda _, start, end: future.result()[start:end]
