"""What came to a table since a version: the files that may have rows which were not sent yet.

They may have others, too: rows that were rewritten or restored, and those of files that were
joined. Which of them were sent is told by their origin (`sinks.deliveries`), so it costs time alone
to name too many files. Reads logs, opens no data file.
"""

from dataclasses import dataclass
from typing import Any

from lake_assets.delta.commit import DataFile, only_lets_go
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.data_files import active_files
from lake_assets.delta.increments import Point
from lake_assets.delta.log_tail import actions_of, file_of, newest_version, path_of
from lake_assets.delta.restores import is_restore
from lake_assets.delta.table_log import TableLog


@dataclass(frozen=True, kw_only=True, slots=True)
class Gained:
    """What came to a table."""

    until: Point
    files: tuple[DataFile, ...] = ()
    has_other_columns: bool = False
    """Whether the table's columns may be others than at the version before."""

    has_deleted_rows: bool = False
    """Whether files may have rows that the table has no more."""

    is_all: bool = False
    """Whether it is all that the table has, since its log does not tell what came."""


def gained_since(log: TableLog, after: Point, *, max_rows: int) -> Gained | None:
    """What came to a table after a version, in whole versions; None if nothing did.

    Args:
        log: of the table, which need not be there.
        after: what is known already.
        max_rows: of the files, after which no further version is taken.

    Raises:
        LakeError: the log cannot be read.
        ValueError: a commit is torn.
    """
    now = commit_digest(log, after.version) if after.version >= 0 else None
    is_same = now is not None and digest_number(now) == digest_number(after.digest)
    if is_same and not log.has(after.version + 1):
        return None
    try:
        newest = newest_version(log)
    except FileNotFoundError:
        return None
    if now is None and newest == after.version:
        return None  # its commit was swept away, which is none of others'
    if is_same:
        found = _by_commits(log, after.version, newest, max_rows)
        if found is not None:
            return found
    handle = log.open(newest)
    return Gained(
        until=Point.at(log, newest),
        files=tuple(active_files(handle)),
        has_other_columns=True,
        has_deleted_rows=True,
        is_all=True,
    )


def digest_number(digest: str) -> int:
    """The first digits of a commit's digest, as one of Delta's transactions holds a number."""
    return int(digest[:15] or "0", 16)


@dataclass(slots=True)
class _Gathering:
    added: dict[str, DataFile]
    has_other_columns: bool = False
    has_deleted_rows: bool = False

    def take(self, actions: list[tuple[str, Any]]) -> bool:
        """Count a version in; False if it does not tell what came."""
        if any(kind == "commitInfo" and is_restore(action) for kind, action in actions):
            return False
        adds = [action for kind, action in actions if kind == "add"]
        removed = {path_of(action) for kind, action in actions if kind == "remove"}
        aged = any(kind == "commitInfo" and only_lets_go(action) for kind, action in actions)
        is_change = not aged and any(add.get("dataChange", True) for add in adds)
        taken = removed & self.added.keys()
        self.has_other_columns |= any(kind in {"metaData", "protocol"} for kind, _ in actions)
        for path in taken:
            del self.added[path]
        if is_change or taken:
            self.added |= {path_of(add): file_of(add) for add in adds}
            self.has_deleted_rows |= any(add.get("deletionVector") for add in adds)
        return True


def _by_commits(log: TableLog, after: int, newest: int, max_rows: int) -> Gained | None:
    gathering, until = _Gathering(added={}), after
    for version in range(after + 1, newest + 1):
        try:
            actions = list(actions_of(log, version))
        except FileNotFoundError:
            return None
        if not gathering.take(actions):
            return None
        until = version
        if sum(file.rows for file in gathering.added.values()) >= max_rows:
            break
    found = (log.store.stat(log.data_file(path)) for path in gathering.added)
    if any(stat is None for stat in found):
        return None  # joined and deleted meanwhile, by versions that were not looked at
    return Gained(
        until=Point.at(log, until),
        files=tuple(gathering.added.values()),
        has_other_columns=gathering.has_other_columns,
        has_deleted_rows=gathering.has_deleted_rows,
    )
