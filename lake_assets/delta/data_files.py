"""A table's data files: which there are, and the same files without some rows.

Reads logs and files and writes files that no commit names yet; committing is `delta.committer`'
work.
"""

from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile, is_encoded
from lake_assets.delta.origins import Everything, RowSet
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef
from lake_assets.parquet.arrow_types import without_views
from lake_assets.parquet.writer import write_file

_PARTITION = "partition."


def active_files(handle: DeltaTable) -> list[DataFile]:
    """The files of a table's version, without their statistics; paths as `delta.log_tail`'s."""
    actions = pa.table(handle.get_add_actions(flatten=True)).to_pylist()
    return [
        DataFile(
            path=unquote(action["path"]),
            logged=action["path"] if is_encoded(action["path"]) else "",
            size=action["size_bytes"],
            rows=action["num_records"] or 0,
            stats="",
            partition={
                name.removeprefix(_PARTITION): None if value is None else str(value)
                for name, value in action.items()
                if name.startswith(_PARTITION)
            },
        )
        for action in actions
    ]


def are_whole(log: TableLog, files: Sequence[DataFile]) -> bool:
    """Whether a table has all these files, each of the size that was noted of it."""
    found = ((log.store.stat(log.data_file(file.path)), file.size) for file in files)
    return all(stat is not None and stat.size == size for stat, size in found)


def ensure_files_exist(table: TableRef, log: TableLog, files: Sequence[DataFile]) -> None:
    """Make sure that a table has its files.

    Raises:
        LakeError: it has not.
    """
    missing = [f.path for f in files if log.store.stat(log.data_file(f.path)) is None]
    if missing:
        raise LakeError(
            table.name,
            f"{len(missing)} of its files are missing, such as {missing[0]}",
            "Put them back, or run `lake-assets rebuild silver`, which derives silver from bronze",
        )


def without(
    log: TableLog, files: Sequence[DataFile], rows: RowSet
) -> tuple[list[DataFile], list[DataFile]]:
    """The files of a table that have some of `rows`, and new ones with what else was in them.

    One file is in memory at a time, and read whole only if some of its rows stay and some go. If
    all rows go, none is read: some may be missing.
    """
    if isinstance(rows, Everything):
        return list(files), []
    removed: list[DataFile] = []
    added: list[DataFile] = []
    for file in files:
        goes = rows.mask(read_file(log, file, rows.columns(columns_of_file(log, file))))
        if not goes.any():
            continue
        removed.append(file)
        if not goes.all():
            kept = read_file(log, file).filter(pa.array(~goes))
            written = write_file(log.store, kept, log.folder, folder_in_table(file))
            added.append(DataFile(partition=file.partition, **written))  # type: ignore[arg-type]
    return removed, added


def folder_in_table(file: DataFile) -> str:
    """Where in a table a file goes that takes the place of this one, which may be elsewhere."""
    return "/".join(f"{name}={value}" for name, value in file.partition.items())


def read_file(log: TableLog, file: DataFile, columns: Sequence[str] | None = None) -> pa.Table:
    """A data file as it is, without the columns that its folder's name has."""
    names = None if columns is None else list(columns)
    with log.store.open_for_reading(log.data_file(file.path)) as source:
        return without_views(pq.read_table(source, columns=names, partitioning=None))


def columns_of_file(log: TableLog, file: DataFile) -> list[str]:
    """Names of a data file's columns, without those that its folder's name has."""
    with log.store.open_for_reading(log.data_file(file.path)) as source:
        names: list[str] = pq.read_schema(source).names
    return names
