"""Fences: commits that do nothing, put where a former holder of the lake's lease would commit next.

Whoever writes looks at a table, makes sure of its lease (`storage.guard`), then commits for the
version that it saw. A process that sleeps before it makes sure is told that the lease is another's;
one that sleeps behind that was taken for dead meanwhile, and commits for a version that its
successor's fence has. Then it asks before it looks again. A table that it makes in its sleep has no
rows: it asks before it adds any, and was fenced by then, or is refused.
"""

import time

from lake_assets.delta.log_tail import actions_of, newest_version
from lake_assets.delta.table_log import TableLog, log_of, table_folders
from lake_assets.errors import LakeError
from lake_assets.storage.at_once import at_once
from lake_assets.storage.store import Store

_IN_COMMIT = "inCommitTimestamp"

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
    at_once(lake, lambda table: _fence(log_of(lake, table), token), tables)
    return len(tables)


def _fence(log: TableLog, token: int) -> None:
    try:
        version = newest_version(log)
        times = _times(log, version)
        for _ in range(_TRIES):
            info = {"operation": "FENCE", "leaseToken": str(token), **times}
            if log.put(version + 1, [{"commitInfo": info}]):
                return
            version += 1  # which is there: a list may tell of it later
            if _IN_COMMIT in times:  # else nothing is read, to catch up with who commits
                times = _times(log, version)
    except FileNotFoundError:
        return  # no table, or dropped meanwhile
    fact = f"gets new commits all the time ({_TRIES} tries of a fence)"
    raise LakeError(str(log.folder), fact, "Stop what writes there beside us")


def _times(log: TableLog, version: int) -> dict[str, int]:
    """When a commit after a version is made, in milliseconds since 1970, as its table wants it."""
    now = int(time.time() * 1000)
    said = [told for kind, told in actions_of(log, version) if kind == "commitInfo"]
    last = said[0].get(_IN_COMMIT) if said else None
    # A table whose last commit has a time of its own asks each for a later one.
    return {"timestamp": now} | ({} if last is None else {_IN_COMMIT: max(now, int(last) + 1)})
