"""Asking a store about many things: one after the other of a disk, many at once of a bucket.

A bucket answers a question after tens of milliseconds, and hundreds of them in the same time.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from lake_assets.storage.store import Store

_In = TypeVar("_In")
_Out = TypeVar("_Out")

_THREADS = 64


def at_once(store: Store, ask: Callable[[_In], _Out], items: Iterable[_In]) -> list[_Out]:
    """What `ask` says of each, in their order; it must be thread-safe. Raises as `ask`."""
    asked = list(items)
    if store.root.is_local or len(asked) <= 1:
        return [ask(item) for item in asked]
    with ThreadPoolExecutor(min(_THREADS, len(asked)), thread_name_prefix="ask") as pool:
        return list(pool.map(ask, asked))
