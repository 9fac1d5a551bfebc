"""A table's rows as an Arrow dataset: its files by its own log, read when and as far as is asked.

What of a table is refused is `delta.table_features`'. Columns, filters and whole files that a query
does not need are not read; the log's bounds tell which files those are. Rows that a deletion vector
calls deleted are left out: such files are copied without them first, piece by piece.
"""

import uuid
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyarrow.fs import FileSystem, LocalFileSystem, PyFileSystem

from lake_assets.delta.data_files import active_files
from lake_assets.delta.deletion_vectors import Mask, kept_rows, undeleted
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_log import TableLog
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.arrow_types import without_views
from lake_assets.parquet.read_file import INT96_UNIT, opened
from lake_assets.query.store_files import StoreFiles

_ROUNDED = timedelta(milliseconds=1)
"""How far a time may be above its file's greatest: engines note milliseconds, and round down."""

_FORMAT = ds.ParquetFileFormat(coerce_int96_timestamp_unit=INT96_UNIT)


_AHEAD = {"batch_size": 16_384, "batch_readahead": 4, "fragment_readahead": 2}
"""Rows that are read at once, batches and files that are read ahead: Arrow's own numbers (131,072,
16 and 4) hold a gigabyte of rows of 300 bytes, which no limit of DuckDB's counts."""


class _Rows(ds.FileSystemDataset):  # type: ignore[misc] # pyarrow ships no types
    """Files whose rows come in small batches; DuckDB says which columns and rows it wants."""

    def scanner(self, **wanted: Any) -> ds.Scanner:  # noqa: ANN401 - as Arrow has it
        """As Arrow has it."""
        return super().scanner(**{**_AHEAD, **wanted})


@dataclass(frozen=True, kw_only=True, slots=True)
class TableReader:
    """Reads tables of one lake, for one query."""

    scratch: Path
    """An empty folder for copies of files that have deleted rows."""

    closing: ExitStack = field(default_factory=ExitStack)
    """Closes what was opened; the datasets are of no use afterwards."""

    def rows(self, log: TableLog, handle: DeltaTable, columns: Collection[str]) -> ds.Dataset:
        """All rows of a table at its version.

        Args:
            log: of the table.
            handle: the table.
            columns: which of them a query names, for the bounds of these tell files apart.

        Raises:
            TableFeatureError: the table cannot be read here.
            LakeError: a file is in another store.
        """
        features_of(handle).ensure(Use.READ)
        schema = without_views(pa.schema(handle.schema().to_arrow()).empty_table()).schema
        known = _known_of_files(handle, schema, columns)
        kept = kept_rows(log, handle)
        fragments = []
        for file, guarantee in zip(active_files(handle), known, strict=True):
            place = log.data_file(file.path)
            files, path = self._place(log, place, kept.get(place))
            fragments.append(
                _FORMAT.make_fragment(path, filesystem=files, partition_expression=guarantee)
            )
        files = fragments[0].filesystem if fragments else LocalFileSystem()
        return _Rows(fragments, schema, _FORMAT, files)

    def _place(self, log: TableLog, file: LakeUri, kept: Mask | None) -> tuple[FileSystem, str]:
        """Where Arrow finds a file's rows."""
        if kept is not None:
            return LocalFileSystem(), str(self._without_deleted(log, file, kept))
        if file.is_local:
            return LocalFileSystem(), str(file.as_path())
        return PyFileSystem(StoreFiles(log.store, self.closing)), str(file)

    def _without_deleted(self, log: TableLog, file: LakeUri, kept: Mask) -> Path:
        path = self.scratch / f"{uuid.uuid4()}.parquet"
        with log.store.open_for_reading(file) as source, opened(source) as parquet:
            columns = parquet.schema_arrow
            with pq.ParquetWriter(path, columns, compression="lz4") as writer:
                for batch in undeleted(parquet.iter_batches(), kept):
                    writer.write_batch(batch)
        return path


def _known_of_files(
    handle: DeltaTable, schema: pa.Schema, columns: Collection[str]
) -> Iterator[pc.Expression]:
    """What is true of all rows of each file: by its partition, and by its columns' bounds."""
    files = pa.table(handle.get_add_actions(flatten=True))
    partition_by = handle.metadata().partition_columns
    named = {name.casefold() for name in columns}
    bounded = [
        one
        for one in schema
        if one.name.casefold() in named and one.name not in partition_by and _is_ordered(one.type)
    ]
    of_file = {
        name: files[name].to_pylist()
        for name in files.column_names
        if name.startswith(("partition.", "min.", "max.", "null_count."))
    }
    for number in range(files.num_rows):
        told = {name: values[number] for name, values in of_file.items()}
        known = pc.scalar(value=True)
        for name in partition_by:
            known &= _is(schema.field(name), told.get(f"partition.{name}"))
        for one in bounded:
            known &= _between(one, told)
        yield known


def _is_ordered(kind: pa.DataType) -> bool:
    """Whether bounds of such a column are exact, but for what is said below.

    Not of floats, whose NaN no bound includes, and of decimals, which logs have as floats.
    """
    are = (pa.types.is_integer, pa.types.is_date, pa.types.is_timestamp, pa.types.is_string)
    return any(is_it(kind) for is_it in are)


def _is(column: pa.Field, value: object) -> pc.Expression:
    at = pc.field(column.name)
    return at.is_null() if value is None else at == pa.scalar(value, column.type)


def _between(column: pa.Field, told: dict[str, Any]) -> pc.Expression:
    at = pc.field(column.name)
    least, most = told.get(f"min.{column.name}"), told.get(f"max.{column.name}")
    if least is None or most is None:
        return pc.scalar(value=True)
    if pa.types.is_timestamp(column.type):
        most += _ROUNDED
    bounds = (at >= pa.scalar(least, column.type), at <= pa.scalar(most, column.type))
    if told.get(f"null_count.{column.name}") == 0:
        return bounds[0] & bounds[1]
    # Apart, which is the form that Arrow draws conclusions from.
    return (bounds[0] | at.is_null()) & (bounds[1] | at.is_null())
