"""Files in a table's folder that no version needs which must be readable, and deleting them.

Those that a commit removed are told by the log, while it has that commit; what no commit names may
be a running job's, or left by one that was killed. Which of them go is decided by
`maintenance.policy`. Deletion vectors and whatever else is no Parquet file are left alone.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from deltalake import DeltaTable

from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_tail import actions_of, path_of
from lake_assets.delta.table_log import TableLog
from lake_assets.model.lake_uri import LakeUri
from lake_assets.storage.store import FileStat


@dataclass(frozen=True, kw_only=True, slots=True)
class UnusedFile:
    """A file that the table's newest version does not have."""

    path: str
    """Below the table's folder."""

    size: int
    """Bytes."""

    tag: str
    """As `FileStat.tag`."""

    removed_in: int | None
    """The version that removed it; None if no commit in the log names it."""

    has_gone_rows: bool
    """Whether that version's rows are others: someone deleted or rewrote some. A compaction's are
    not."""


def unused_files(log: TableLog, open_newest: Callable[[], DeltaTable]) -> list[UnusedFile]:
    """The files in a table's folder that its newest version does not have.

    The folder is listed before the log is read: a file that is committed meanwhile is none.

    Args:
        log: of the table.
        open_newest: the table at its newest version, when it is called.

    Raises:
        DeltaError: deltalake cannot read the log.
        LakeError: the store cannot be read.
    """
    found = dict(files_below(log, log.folder))
    handle = open_newest()
    used = {log.data_file(file.path) for file in active_files(handle)}
    found = {path: stat for path, stat in found.items() if log.data_file(path) not in used}
    if not found:
        return []
    removed = _removed(log, handle.version())
    return [
        UnusedFile(
            path=path,
            size=stat.size,
            tag=stat.tag,
            removed_in=removed[path].version if path in removed else None,
            has_gone_rows=path in removed and removed[path].is_change,
        )
        for path, stat in found.items()
    ]


def delete_unused(log: TableLog, files: Sequence[UnusedFile]) -> None:
    """Delete files; those that are others by now stay.

    A commit that removed one outlives a power cut before the file is gone, whatever the settings
    ask of commits: it would come back without its files else.

    Raises:
        LakeError: the store cannot be written.
    """
    for version in sorted({file.removed_in for file in files if file.removed_in is not None}):
        with suppress(FileNotFoundError):  # swept away since, by whoever has a checkpoint of it
            log.store.sync(log.commit_file(version))
    for file in files:
        place = log.data_file(file.path)
        stat = log.store.stat(place)
        if stat is not None and stat.tag == file.tag:
            log.store.delete(place)


def files_below(log: TableLog, folder: LakeUri, below: str = "") -> Iterator[tuple[str, FileStat]]:
    """A table's data files, and those that are being written: paths below it, and what they are.

    Args:
        log: of the table.
        folder: of it, or in it.
        below: how paths begin, of those that are not looked at from the table's folder on.
    """
    whole = (name for name in log.store.list_from(folder) if _is_data(name))
    for name in (*whole, *log.store.staged(folder)):
        stat = log.store.stat(folder / name)
        if stat is not None:
            yield f"{below}{name}", stat
    for name in log.store.folders(folder):
        if not name.startswith(("_", ".")):
            yield from files_below(log, folder / name, f"{below}{name}/")


def _is_data(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(("_", "."))


class _Removal(NamedTuple):
    version: int
    is_change: bool


def _removed(log: TableLog, newest: int) -> dict[str, _Removal]:
    """By file, the version that removed it last, as far back as the log's commits tell."""
    removed: dict[str, _Removal] = {}
    for version in range(newest, -1, -1):
        try:
            if b'"remove"' not in log.commit(version):
                continue
            actions = actions_of(log, version)
            gone = [action for kind, action in actions if kind == "remove"]
        except FileNotFoundError:
            break
        for action in gone:
            removal = _Removal(version, is_change=bool(action.get("dataChange", True)))
            removed.setdefault(path_of(action), removal)
    return removed
