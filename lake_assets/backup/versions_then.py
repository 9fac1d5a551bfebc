"""What tables held at a time, or at a version: which version that was, and whether it can be read.

The time of a commit is the one that it tells, by the clock of whoever made it; unlike that of
its file it stays when a lake is copied or restored. Reads logs only.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from deltalake.exceptions import DeltaError

from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import rows_of
from lake_assets.delta.log_tail import actions_of, newest_version
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class TableThen:
    """A table as it was."""

    table: TableRef
    version: int | None = None
    """None if there was no such table, or nothing tells."""

    committed_at: datetime | None = None
    """When that version came; None if its commit is gone."""

    rows: int | None = None
    """None if the version cannot be read."""

    newest: int
    """The version that the table has now."""

    why_not: str = ""
    """Why the version cannot be read, in words; empty if it can."""


def table_at(lake: Store, table: TableRef, at: datetime | int) -> TableThen:
    """A table at a time, or at a version.

    Raises:
        LakeError: there is no such table, or its log cannot be read.
    """
    log = log_of(lake, table)
    try:
        newest = newest_version(log)
    except FileNotFoundError as problem:
        fact = "there is no such table"
        raise LakeError(str(log.folder), fact, "Name one that is there") from problem
    first = _first_commit(log, newest)
    version = at if isinstance(at, int) else version_then(log, first, newest, at)
    if version is None:
        begun = time_of(log, first)
        why = "there was no table" if first == 0 else "the log no longer reaches back to it"
        why += f" (it begins at version {first}" + (
            f", {begun:%Y-%m-%d %H:%M:%S})" if begun else ")"
        )
        return TableThen(table=table, newest=newest, why_not=why)
    if version > newest:
        return TableThen(
            table=table, version=version, newest=newest, why_not=f"the newest is {newest}"
        )
    rows, why_not = _rows_at(log, version)
    return TableThen(
        table=table,
        version=version,
        committed_at=time_of(log, version),
        rows=rows,
        newest=newest,
        why_not=why_not,
    )


def version_then(log: TableLog, first: int, newest: int, at: datetime) -> int | None:
    """The newest of some versions that was there at a time; None if none was.

    Commits' times are taken to be in order. Where a clock was set back, those from before it may
    tell later times than those since then: from the newest one backwards, in growing steps, they
    hide none of these, and for a time about when that was, one of the versions around it is found.
    """

    def had_come(version: int) -> bool:
        came = time_of(log, version)
        return came is None or came <= at

    low, above, step = newest, newest + 1, 1
    while low >= first and not had_come(low):
        low, above, step = low - step, low, step * 2
    low = max(low, first - 1)
    while above - low > 1:
        middle = (low + above) // 2
        if had_come(middle):
            low = middle
        else:
            above = middle
    return low if low >= first else None


def time_of(log: TableLog, version: int) -> datetime | None:
    """When a version's commit was made, as it tells itself; else when its file was written."""
    try:
        infos = [info for kind, info in actions_of(log, version) if kind == "commitInfo"]
    except (FileNotFoundError, ValueError):
        infos = []
    told = infos[0].get("timestamp") if infos else None
    if isinstance(told, int):
        return datetime.fromtimestamp(told / 1000, UTC)
    stat = log.store.stat(log.commit_file(version))
    return None if stat is None else datetime.fromtimestamp(stat.modified_ns / 1e9, UTC)


def _first_commit(log: TableLog, newest: int) -> int:
    """The oldest version whose commit is there, with no gap after it."""
    names = (name for name in log.names_from() if name.endswith(".json"))
    numbers = {int(n.split(".")[0]) for n in names if n.split(".")[0].isdecimal()}
    first = newest
    while first - 1 in numbers:
        first -= 1
    return first


def _rows_at(log: TableLog, version: int) -> tuple[int | None, str]:
    """Rows of a version, or why it cannot be read."""
    try:
        then = log.open(version)
        now = {file.path for file in active_files(log.open())}
        gone = [
            file.path
            for file in active_files(then)
            if file.path not in now and log.store.stat(log.data_file(file.path)) is None
        ]
        if gone:
            return None, f"{len(gone)} of its files were deleted"
        return rows_of(then), ""
    except (DeltaError, FileNotFoundError):
        return None, "its log was shortened"
