"""Fences: commits that do nothing, put where a former holder of the lake's lease would commit next.

Whoever writes looks at a table, makes sure of its lease (`storage.guard`), then commits for the
version that it saw. A process that sleeps before it makes sure is told that the lease is another's;
one that sleeps behind that was taken for dead meanwhile, and commits for a version that its
successor's fence has. Then it asks before it looks again. A table that it makes in its sleep has no
rows: it asks before it adds any, and was fenced by then, or is refused.
"""

import time
from concurrent.futures import ThreadPoolExecutor

from lake_assets.delta.log_tail import newest_version
from lake_assets.delta.table_log import TableLog, log_of, table_folders
from lake_assets.errors import LakeError
from lake_assets.storage.store import Store

_AT_ONCE = 32
"""Tables fenced at once: each waits for some answers of the store."""

_TRIES = 100
"""Versions that may come before one fence, of a holder that is alive after all."""


def fence_tables(lake: Store, token: int) -> int:
    """Fence all tables of a lake.

    Args:
        lake: the store at its root, which its guard lets write.
        token: of the lease, which the fences name.

    Returns:
        How many there are.

    Raises:
        LeaseLostError: another machine has the lease by now.
        LakeError: the store cannot be read or written.
    """
    tables = list(table_folders(lake))
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="fence") as pool:
        logs = (log_of(lake, table) for table in tables)
        list(pool.map(lambda log: _fence(log, token), logs))
    return len(tables)


def _fence(log: TableLog, token: int) -> None:
    info = {"timestamp": int(time.time() * 1000), "operation": "FENCE", "leaseToken": str(token)}
    for _ in range(_TRIES):
        try:
            version = newest_version(log)
        except FileNotFoundError:
            return  # no table, or dropped meanwhile
        if log.put(version + 1, [{"commitInfo": info}]):
            return
    fact = f"gets new commits all the time ({_TRIES} tries of a fence)"
    raise LakeError(str(log.folder), fact, "Stop what writes there beside us")
