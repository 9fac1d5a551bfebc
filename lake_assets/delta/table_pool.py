"""The threads in which a committer acts on several tables at once. What is done is the committer's.

In a bucket most of a commit is waiting for answers; on a disk it is work, and more threads than two
gain nothing.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lake_assets.delta.conflicts import lake_errors
from lake_assets.storage.store import Store

_In = TypeVar("_In")
_Out = TypeVar("_Out")


class TablePool:
    """Acts on up to so many tables of a lake at once. Thread-safe."""

    def __init__(self, store: Store, threads: int, before: Callable[[], None]) -> None:
        """Start no thread yet; `before` is called before each time they are used."""
        self._root, self._before = store.root, before
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="commit")

    def each(self, act: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
        """What `act` makes of each item.

        Raises:
            LakeError: what deltalake or the system says of the lake; also as `before`.
        """
        with lake_errors(self._root):
            self._before()
            return list(self._pool.map(act, items))

    def look_at_each(self, act: Callable[[_In], _Out], items: Sequence[_In]) -> list[_Out]:
        """The same of what a disk tells in less time than it takes to ask a thread for it."""
        if self._root.is_local:
            return list(map(act, items))
        return self.each(act, items)

    def close(self) -> None:
        """Wait for what is under way, and release the threads."""
        self._pool.shutdown()
