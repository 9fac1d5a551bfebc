"""What a Delta log tells of a table: its size and its last commit. Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from lake_assets.delta.commit import ENGINE, Batch
from lake_assets.delta.deletion_vectors import deleted_rows, has_deleted_rows
from lake_assets.delta.log_tail import actions_of, log_tail_of, newest_version, texts_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class TableState:
    """A table at one version, from its log alone."""

    version: int
    rows: int
    files: int
    size_bytes: int
    committed_at: datetime
    """Time of the newest commit, UTC."""

    info: Mapping[str, str]
    """Custom metadata of the newest commit that had any."""

    partition_by: tuple[str, ...] = ()
    partitions: int = 1
    """With rows."""


def open_table(lake: Store, table: TableRef) -> DeltaTable | None:
    """A table of the lake at its newest version; None if there is no such table."""
    try:
        return log_of(lake, table).open()
    except TableNotFoundError:
        return None


def state_of(handle: DeltaTable) -> TableState:
    """Sum up a table from its log, without opening a data file."""
    actions = _files(handle)
    newest = _newest_commit(handle)
    split_by = tuple(handle.metadata().partition_columns)
    values = actions.select([f"partition.{name}" for name in split_by])
    return TableState(
        version=handle.version(),
        rows=rows_of(handle),
        files=actions.num_rows,
        size_bytes=pc.sum(actions["size_bytes"]).as_py() or 0,
        committed_at=datetime.fromtimestamp(newest["timestamp"] / 1000, tz=UTC),
        info=texts_of(newest),
        partition_by=split_by,
        partitions=values.group_by(values.column_names).aggregate([]).num_rows if split_by else 1,
    )


def last_info(handle: DeltaTable) -> Mapping[str, str]:
    """Custom metadata of the newest commit; cheaper than all of its state."""
    return texts_of(_newest_commit(handle))


def newest_info(lake: Store, table: TableRef) -> Mapping[str, str]:
    """`last_info` of a table that need not be opened for it; empty if there is no such table."""
    tail = log_tail_of(log_of(lake, table))
    if tail is not None:
        return tail.info
    handle = open_table(lake, table)
    return last_info(handle) if handle else {}


def identity(lake: Store, table: TableRef) -> tuple[int, str] | None:
    """A table's newest version and Delta's id of it; None if there is no such table.

    It is opened only if its newest commit does not tell.
    """
    tail = log_tail_of(log_of(lake, table))
    if tail is not None and tail.table_id:
        return tail.version, tail.table_id
    handle = open_table(lake, table)
    return (handle.version(), str(handle.metadata().id)) if handle else None


def _newest_commit(handle: DeltaTable) -> Mapping[str, Any]:
    return handle.history(1)[0]


def committed_at(lake: Store, table: TableRef, version: int) -> float | None:
    """When a version was committed, in seconds since 1970; None if the log has forgotten it."""
    stat = lake.stat(log_of(lake, table).commit_file(version))
    return None if stat is None else stat.modified_ns / 1e9


def written_at(lake: Store, table: TableRef) -> float | None:
    """When a table was last written with rows in mind, in seconds since 1970; None if none tells.

    To join files, vacuum or set properties is not to write; a refresh that found nothing else is.
    The time is that which the commit tells: a copy of the lake keeps it. The table is not opened.

    Raises:
        LakeError: its log cannot be read.
    """
    log = log_of(lake, table)
    try:
        for version in range(newest_version(log), -1, -1):
            actions = list(actions_of(log, version))
            if _writes(actions):
                at = next(
                    (told.get("timestamp") for kind, told in actions if kind == "commitInfo"), None
                )
                return at / 1000 if at else committed_at(lake, table, version)
    except (FileNotFoundError, ValueError):
        return None  # there is no table, or its log is shortened or torn there
    return None


def _writes(actions: Sequence[tuple[str, Mapping[str, Any]]]) -> bool:
    """Whether a commit changes rows, or notes of ours that what is there is still right."""
    files = [bool(told.get("dataChange")) for kind, told in actions if kind in {"add", "remove"}]
    is_ours = any(
        told.get("engineInfo") == ENGINE for kind, told in actions if kind == "commitInfo"
    )
    return any(files) if files else is_ours


def rows_of(handle: DeltaTable) -> int:
    """Rows of a table, from its log and its deletion vectors."""
    return (pc.sum(_files(handle)["num_records"]).as_py() or 0) - deleted_rows(handle)


def _files(handle: DeltaTable) -> pa.Table:
    """One row a data file; deltalake's own tables are no arguments for pyarrow's functions."""
    return pa.table(handle.get_add_actions(flatten=True))


def rows_at(log: TableLog, handle: DeltaTable, version: int) -> int | None:
    """Rows that a table had at a version, from its log; None if the log has forgotten it."""
    if version == handle.version():
        return rows_of(handle)
    try:
        return rows_of(log.open(version))
    except DeltaError:
        return None


def newest_of(handle: DeltaTable, column: str) -> tuple[datetime | None, bool]:
    """The newest value of a timestamp column by the log, and whether the log tells it at all.

    A table without rows, or with nulls alone, has no newest value, and that is told.
    """
    files = _files(handle)
    names = (f"max.{column}", f"null_count.{column}")
    if not files.num_rows:
        return None, True
    # Bounds of a file with deleted rows are those that it had with them.
    if not all(name in files.column_names for name in names) or has_deleted_rows(handle):
        return None, False
    maxima, nulls = (files[name] for name in names)
    is_told = pc.or_(pc.is_valid(maxima), pc.equal(nulls, files["num_records"]))
    if not pc.all(is_told.fill_null(fill_value=False)).as_py():
        return None, False
    newest = pc.max(maxima).as_py()
    if newest is not None and not isinstance(newest, datetime):
        return None, False
    return newest.astimezone(UTC) if newest else None, True


def rows_since(handle: DeltaTable, version: int) -> int:
    """Rows that streams added in the commits from `version` on."""
    newer = handle.version() - version + 1
    if newer <= 0:
        return 0
    return sum(int(commit.get("rows", 0)) for commit in handle.history(newer))


def is_done(handle: DeltaTable, batch: Batch) -> bool:
    """Whether the table has this batch, or a later one, of the same stream."""
    last = handle.transaction_version(batch.app_id)
    return last is not None and last >= batch.version
