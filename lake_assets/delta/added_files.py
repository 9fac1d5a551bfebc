"""What a table gained between two of its versions, by the commits of its Delta log alone.

Opens neither snapshots nor data files: some tens of microseconds a commit.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lake_assets.delta.commit import RETENTION, WIDENED, DataFile
from lake_assets.delta.log_tail import actions_of, file_of, path_of
from lake_assets.delta.table_log import TableLog


@dataclass(frozen=True, kw_only=True, slots=True)
class Gained:
    """The files whose rows came to a table."""

    files: tuple[DataFile, ...] = ()
    """Each is still there."""

    obstacle: str = ""
    """In words, why `files` do not tell all that happened; empty if they do."""

    has_changed: bool = False
    """Whether the table itself did, such as by a new column."""

    @property
    def rows(self) -> int:
        """Rows in the files, as the log counts them."""
        return sum(file.rows for file in self.files)


def gained_between(
    log: TableLog, after: int, upto: int, reads: Callable[[str], bool] = lambda _: True
) -> Gained:
    """The files added in the versions above `after`, up to `upto`.

    Commits that only rearrange rows (`dataChange` is false, as in a compaction) add nothing, nor
    do those by which rows left for their age, nor those that rewrote all for columns that nobody
    reads. A file that such a commit removed is taken as it was, if vacuum has left it.

    Args:
        log: of the table.
        after: the version whose rows are known already.
        upto: the last version to look at.
        reads: whether a column's values matter; one that became wider or newly named must not.
    """
    added: dict[str, DataFile] = {}
    rearranged: set[str] = set()
    has_changed = False
    for version in range(after + 1, upto + 1):
        try:
            actions = list(actions_of(log, version))
        except FileNotFoundError:
            return Gained(obstacle=f"silver's log has no version {version} any more")
        same = any(_keeps_values(action, reads) for kind, action in actions if kind == "commitInfo")
        if obstacle := _obstacle(actions, same=same):
            return Gained(obstacle=f"{obstacle} in its version {version}")
        has_changed |= any(kind in {"metaData", "protocol"} for kind, _ in actions)
        rearranged |= {path_of(action) for kind, action in actions if kind == "remove"}
        for kind, action in actions:
            if kind == "add" and action["dataChange"] and not same:
                file = file_of(action)
                added[file.path] = file
    missing = (log.store.stat(log.data_file(path)) is None for path in rearranged & added.keys())
    if any(missing):
        return Gained(obstacle="vacuum deleted files that silver gained and compacted since")
    return Gained(files=tuple(added.values()), has_changed=has_changed)


def _keeps_values(info: Mapping[str, Any], reads: Callable[[str], bool]) -> bool:
    """Whether a commit's files hold, of the rows that stay, the values that they had."""
    rewritten = str(info.get(WIDENED, "")).split(", ")
    return RETENTION in info or (WIDENED in info and not any(map(reads, rewritten)))


def _obstacle(actions: list[tuple[str, Any]], *, same: bool) -> str:
    """Why the files that a version added are not what its rows came to; empty if they are."""
    added = [action for kind, action in actions if kind == "add"]
    if not same and any(kind == "remove" and action["dataChange"] for kind, action in actions):
        return "rows left silver or changed"
    if any(action.get("deletionVector") for action in added):
        return "silver gained deleted rows"
    came = (file_of(action) for action in added if action["dataChange"] and not same)
    if not all(file.has_all_columns for file in came):
        return "another engine added rows to silver, in files without its partition columns,"
    return ""
