"""Files in a table's folder that no version needs which must be readable, and deleting them.

Those that a commit removed are told by the log, while it has that commit; what no commit names may
be a running job's, or left by one that was killed. Which of them go is decided by
`maintenance.policy`. Deletion vectors and whatever else is no Parquet file are left alone.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_tail import actions_of, path_of
from lake_assets.delta.table_log import TableLog
from lake_assets.storage.store import FileStat
from lake_assets.storage.uri import LakeUri


@dataclass(frozen=True, kw_only=True, slots=True)
class UnusedFile:
    """A file that the table's newest version does not have."""

    path: str
    """Below the table's folder."""

    size: int
    """Bytes."""

    tag: str
    """As `FileStat.tag`."""

    written_at: float
    """Seconds since 1970."""

    removed_in: int | None
    """The version that removed it; None if no commit in the log names it."""


def unused_files(log: TableLog) -> list[UnusedFile]:
    """The files in a table's folder that its newest version does not have.

    The folder is listed before the log is read: a file that is committed meanwhile is none.

    Raises:
        DeltaError: deltalake cannot read the log.
        LakeError: the store cannot be read.
    """
    found = dict(_files(log, log.folder, ""))
    handle = log.open()
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
            written_at=stat.modified_ns / 1e9,
            removed_in=removed.get(path),
        )
        for path, stat in found.items()
    ]


def delete_unused(log: TableLog, files: Iterable[UnusedFile]) -> None:
    """Delete files; those that are others by now stay.

    Raises:
        LakeError: the store cannot be written.
    """
    for file in files:
        place = log.data_file(file.path)
        stat = log.store.stat(place)
        if stat is not None and stat.tag == file.tag:
            log.store.delete(place)


def _files(log: TableLog, folder: LakeUri, below: str) -> Iterator[tuple[str, FileStat]]:
    whole = (name for name in log.store.list_from(folder) if _is_data(name))
    for name in (*whole, *log.store.staged(folder)):
        stat = log.store.stat(folder / name)
        if stat is not None:
            yield f"{below}{name}", stat
    for name in log.store.folders(folder):
        if not name.startswith(("_", ".")):
            yield from _files(log, folder / name, f"{below}{name}/")


def _is_data(name: str) -> bool:
    return name.endswith(".parquet") and not name.startswith(("_", "."))


def _removed(log: TableLog, newest: int) -> dict[str, int]:
    """By file, the version that removed it, as far back as the log's commits tell."""
    removed: dict[str, int] = {}
    for version in range(newest, -1, -1):
        try:
            if b'"remove"' not in log.commit(version):
                continue
            actions = actions_of(log, version)
            gone = [path_of(action) for kind, action in actions if kind == "remove"]
        except FileNotFoundError:
            break
        for path in gone:
            removed.setdefault(path, version)
    return removed
