"""A table's data files: which there are, and the same files without some rows.

Reads logs and files and writes files that no commit names yet; committing is `delta.committer`'
work.
"""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.origins import Everything, RowSet
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef
from lake_assets.parquet.arrow_types import without_views
from lake_assets.parquet.writer import write_file

_PARTITION = "partition."


def active_files(handle: DeltaTable) -> list[DataFile]:
    """The files of a table's version, without their statistics."""
    actions = pa.table(handle.get_add_actions(flatten=True)).to_pylist()
    return [
        DataFile(
            path=action["path"],
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


def are_whole(folder: Path, files: Sequence[DataFile]) -> bool:
    """Whether a table's folder has all these files, each of the size that was noted of it."""
    expected = ((folder / file.path, file.size) for file in files)
    return all(path.is_file() and path.stat().st_size == size for path, size in expected)


def ensure_files_exist(table: TableRef, folder: Path, files: Sequence[DataFile]) -> None:
    """Make sure that a table's folder has its files.

    Raises:
        LakeError: it has not.
    """
    missing = [file.path for file in files if not (folder / file.path).is_file()]
    if missing:
        raise LakeError(
            table.name,
            f"{len(missing)} of its files are missing, such as {missing[0]}",
            "Put them back, or run `lake-assets rebuild silver`, which derives silver from bronze",
        )


def without(
    folder: Path, files: Sequence[DataFile], rows: RowSet
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
        path = folder / file.path
        footer = pq.read_schema(path)
        goes = rows.mask(read_file(path, rows.columns(footer.names)))
        if not goes.any():
            continue
        removed.append(file)
        if not goes.all():
            kept = read_file(path).filter(pa.array(~goes))
            partition = "/".join(f"{name}={value}" for name, value in file.partition.items())
            written = write_file(kept, folder, partition)
            added.append(DataFile(partition=file.partition, **written))  # type: ignore[arg-type]
    return removed, added


def read_file(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """A data file as it is, without the columns that its folder's name has."""
    names = None if columns is None else list(columns)
    return without_views(pq.read_table(path, columns=names, partitioning=None))
