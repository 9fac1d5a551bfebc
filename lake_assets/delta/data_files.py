"""A table's data files: which there are, and the same files without some rows.

Reads logs and files and writes files that no commit names yet; committing is `delta.committer`'
work.
"""

import re
import uuid
from collections.abc import Sequence
from decimal import Decimal
from pathlib import PurePosixPath
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
from lake_assets.parquet.bloom_filters import bloomed_columns, with_bloom_filters
from lake_assets.parquet.data_file import write_file
from lake_assets.parquet.partitioning import WHOLE
from lake_assets.parquet.read_file import INT96_UNIT

_PARTITION = "partition."

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")

_TOLD = ("path", "size_bytes", "num_records")
"""What deltalake tells of a file that is told here."""


def active_files(handle: DeltaTable) -> list[DataFile]:
    """The files of a table's version, without their statistics; paths as `delta.log_tail`'s."""
    actions = pa.table(handle.get_add_actions(flatten=True))
    # Statistics are most of it, and no business of ours.
    told = [*_TOLD, *(name for name in actions.column_names if name.startswith(_PARTITION))]
    return [
        DataFile(
            path=unquote(path) if "%" in path else path,
            logged=path if is_encoded(path) else "",
            size=size,
            rows=rows or 0,
            stats="",
            partition={
                name.removeprefix(_PARTITION): _logged_value(value)
                for name, value in zip(told[len(_TOLD) :], values, strict=True)
            },
        )
        for path, size, rows, *values in zip(
            *(actions[name].to_pylist() for name in told), strict=True
        )
    ]


def _logged_value(value: object) -> str | None:
    """A partition's value as a log has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return None if value is None else str(value)


def written_at(handle: DeltaTable) -> list[int]:
    """When each of `active_files` was written, by the log, in milliseconds since 1970."""
    times = pa.table(handle.get_add_actions(flatten=True))["modification_time"]
    numbers: list[int] = times.cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist()
    return numbers


def are_whole(log: TableLog, files: Sequence[DataFile]) -> bool:
    """Whether a table has all these files, each of the size that was noted of it."""
    found = ((log.store.stat(log.data_file(file.path)), file.size) for file in files)
    return all(stat is not None and stat.size == size for stat, size in found)


def ensure_files_exist(table: TableRef, log: TableLog, files: Sequence[DataFile]) -> None:
    """Make sure that a table has its files, each of the size that its log says.

    Raises:
        LakeError: it has not.
    """
    lost = [file.path for file in files if not are_whole(log, [file])]
    if lost:
        raise LakeError(
            table.name,
            f"{len(lost)} of its files are missing or torn, such as {lost[0]}",
            "Put them back, or run `lake-assets rebuild silver`, which derives silver from bronze",
        )


def without(
    log: TableLog, files: Sequence[DataFile], rows: RowSet, *, may_be_missing: bool = False
) -> tuple[list[DataFile], list[DataFile]]:
    """The files of a table that have some of `rows`, and new ones with what else was in them.

    One file is in memory at a time, and read whole only if some of its rows stay and some go. If
    all rows go, none is read: some may be missing or torn. With `may_be_missing` others may, too:
    their rows are gone already.
    """
    if isinstance(rows, Everything):
        return list(files), []
    removed: list[DataFile] = []
    added: list[DataFile] = []
    for file in files:
        try:
            goes = rows.mask(read_file(log, file, rows.columns(columns_of_file(log, file))))
        except (FileNotFoundError, pa.ArrowException):
            if not may_be_missing or are_whole(log, [file]):
                raise
            removed.append(file)
            continue
        if not goes.any():
            continue
        removed.append(file)
        if not goes.all():
            kept = read_file(log, file).filter(pa.array(~goes))
            schema = with_bloom_filters(kept.schema, _bloomed(log, file), kept.num_rows)
            kept = pa.table(kept.columns, schema)
            written = write_file(
                log.store, kept, log.folder, folder_in_table(file), prefix_of(file), file.partition
            )
            added.append(DataFile(partition=file.partition, **written))  # type: ignore[arg-type]
    return removed, added


def _bloomed(log: TableLog, file: DataFile) -> tuple[str, ...]:
    with log.store.open_for_reading(log.data_file(file.path)) as source:
        return bloomed_columns(pq.read_metadata(source))


def folder_in_table(file: DataFile) -> str:
    """Where in a table a file goes that takes the place of this one, which may be elsewhere.

    Those that have all columns need no folder whose name has some, and no value is one's that might
    be a path.
    """
    if file.has_all_columns or not all(_PLAIN.fullmatch(v or "") for v in file.partition.values()):
        return ""
    return "/".join(f"{name}={value}" for name, value in file.partition.items())


def prefix_of(file: DataFile) -> str:
    """How the name of a file begins that takes the place of this one."""
    return WHOLE if file.partition and file.has_all_columns else "part"


def path_like(file: DataFile) -> str:
    """A new path in the table for a file that takes the place of this one."""
    return str(PurePosixPath(folder_in_table(file), f"{prefix_of(file)}-{uuid.uuid4()}.parquet"))


def whole_path(file: DataFile) -> str:
    """The same for one that has all columns, whether this one has them or not."""
    return f"{WHOLE}-{uuid.uuid4()}.parquet" if file.partition else path_like(file)


def stored_columns(columns: pa.Schema, file: DataFile) -> pa.Schema:
    """Those of a table's columns that such a file has."""
    if file.has_all_columns:
        return columns
    return pa.schema([field for field in columns if field.name not in file.partition])


def read_file(log: TableLog, file: DataFile, columns: Sequence[str] | None = None) -> pa.Table:
    """A data file as it is, without the columns that its folder's name has."""
    names = None if columns is None else list(columns)
    with log.store.open_for_reading(log.data_file(file.path)) as source:
        rows = pq.read_table(
            source, columns=names, partitioning=None, coerce_int96_timestamp_unit=INT96_UNIT
        )
        return without_views(rows)


def columns_of_file(log: TableLog, file: DataFile) -> list[str]:
    """Names of a data file's columns, without those that its folder's name has."""
    with log.store.open_for_reading(log.data_file(file.path)) as source:
        names: list[str] = pq.read_schema(source).names
    return names
