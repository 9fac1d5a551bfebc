"""Finding a table's rows that hold wanted values, in files that bounds and filters do not rule out.

Of each file one column is read, a group of rows at a time, and where the rows came from only if the
group has some. Rows that a deletion vector marks are found like others: the file has them still.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.origins import Everything, Origins, Own, RowSet
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import TableLog
from lake_assets.erasure.matching import Matching
from lake_assets.erasure.wanted import equal_to
from lake_assets.errors import ErasureError
from lake_assets.model.origins import OriginColumns
from lake_assets.parquet.bloom_filters import rules_out
from lake_assets.storage.store import Readable

_AT_ONCE = 4
"""Files that are read at the same time."""

Mask = npt.NDArray[np.bool_]

Test = Callable[[pa.ChunkedArray], pa.ChunkedArray]
"""Which values of a column are wanted."""

Values = Mapping[str, pa.Array]
"""By column, all values that are wanted, of the column's type."""


@dataclass(frozen=True, slots=True)
class Sought:
    """Rows to look for: those one of whose columns has a wanted value."""

    columns: Sequence[str]
    test: Test
    values: Values = field(default_factory=dict, repr=False)
    """Of columns whose values are known: files whose Bloom filters rule them out are not read."""


@dataclass(slots=True)
class FoundRows:
    """Rows of one table that hold wanted values."""

    origins: Origins
    rows: int = 0
    files: list[DataFile] = field(default_factory=list)
    """That have some."""

    read: int = 0
    """Files that were read, since they might have had some."""


def columns_called(columns: pa.Schema, name: str) -> list[str]:
    """A table's columns of a name in any case."""
    return [column.name for column in columns if column.name.lower() == name.lower()]


def rows_with(
    log: TableLog, handle: DeltaTable, matching: Matching, origin: OriginColumns
) -> FoundRows:
    """The feed's rows of a table one of whose columns of the name has a wanted value.

    Args:
        log: of the table.
        handle: the table, at the version to look at.
        matching: tells the values, and the column's name, in any case.
        origin: the feed's columns that say where a row came from.

    Raises:
        ErasureError: the column's type has no such values, or the table is partitioned by it.
        LakeError: a file cannot be read.
        TableFeatureError: a feature of the table forbids it.
    """
    ensure_usable(handle, Use.READ)  # files have columns by the names of the table
    schema = pa.schema(handle.schema().to_arrow())
    names = columns_called(schema, matching.column)
    ensure_tells(log, handle, matching.column)
    mays = [_may(handle, name, matching.values(schema.field(name).type)) for name in names]
    files = [file for file, *may in zip(active_files(handle), *mays, strict=True) if any(may)]
    columns = [schema.field(name) for name in names]
    found = {column.name: matching.values(column.type) for column in columns}
    known = {name: values for name, values in found.items() if values is not None}
    return _read(log, files if names else [], Sought(names, matching.test, known), origin)


def ensure_tells(log: TableLog, handle: DeltaTable, name: str) -> bool:
    """Whether a table has a column of a name, in any case, by which persons can be told.

    Raises:
        ErasureError: it has one, whose type has no such values, or it is partitioned by it.
    """
    table, columns = log.folder.path.rpartition("/")[2], pa.schema(handle.schema().to_arrow())
    found = [columns.field(one) for one in columns_called(columns, name)]
    for column in found:
        if equal_to((), column.type) is None:
            raise ErasureError(
                f"{table}.{column.name}",
                f"is of type {column.type}, by which nobody is told",
                "Name a column of texts, whole numbers or bytes",
            )
        if column.name in handle.metadata().partition_columns:
            raise ErasureError(
                table,
                f"is partitioned by {column.name}, so its log names the values in paths",
                "Declare another `partition_by`, run `lake-assets rebuild silver`, and ask again",
            )
    return bool(found)


def rows_where(
    log: TableLog,
    handle: DeltaTable,
    columns: Sequence[str],
    test: Test,
    origin: OriginColumns,
) -> FoundRows:
    """The feed's rows of a table one of whose texts passes a test.

    Raises:
        LakeError: a file cannot be read.
        TableFeatureError: a feature of the table forbids it.
    """
    ensure_usable(handle, Use.READ)
    files = active_files(handle)
    told = pa.table(handle.get_add_actions(flatten=True))
    counts = [f"null_count.{column}" for column in columns]
    nulls = [told[name].to_pylist() for name in counts if name in told.column_names]
    if len(nulls) == len(columns):
        files = [
            file
            for number, file in enumerate(files)
            if any(one[number] is None or one[number] < file.rows for one in nulls)
        ]

    return _read(log, files, Sought(columns, test), origin)


def files_without(handle: DeltaTable, column: str) -> list[DataFile]:
    """Files that may have rows without a value in a column, by the counts that the log tells."""
    told, name = pa.table(handle.get_add_actions(flatten=True)), f"null_count.{column}"
    files = active_files(handle)
    nulls = told[name].to_pylist() if name in told.column_names else [None] * len(files)
    return [file for file, count in zip(files, nulls, strict=True) if count != 0]


def naming(patterns: Sequence[str], is_meant: Callable[[str], bool] | None = None) -> Test:
    """Which texts match a pattern (RE2), and of which `is_meant` says so, if it is given.

    Without patterns it is asked about all.
    """

    def test(found: pa.ChunkedArray) -> pa.ChunkedArray:
        matches = [pc.match_substring_regex(found, pattern) for pattern in patterns]
        hits = reduce(pc.or_, matches or [pc.is_valid(found)])
        if is_meant is None:
            return hits
        texts = pc.unique(found.filter(hits)).drop_null()
        meant = texts.filter(pa.array(map(is_meant, texts.to_pylist()), pa.bool_()))
        return pc.is_in(found, value_set=meant)

    return test


def _may(handle: DeltaTable, column: str, values: pa.Array | None) -> list[bool]:
    """Which of `active_files` may have one of the values, by the bounds that the log tells."""
    told = pa.table(handle.get_add_actions(flatten=True))
    low, high = f"min.{column}", f"max.{column}"
    has_bounds = {low, high} <= {*told.column_names}
    if values is None or not has_bounds or pa.types.is_binary(values.type):
        return [True] * told.num_rows
    wanted = sorted(values.to_pylist())
    return [
        least is None or most is None or bisect_right(wanted, most) > bisect_left(wanted, least)
        for least, most in zip(told[low].to_pylist(), told[high].to_pylist(), strict=True)
    ]


def _read(
    log: TableLog,
    files: Sequence[DataFile],
    sought: Sought,
    origin: OriginColumns,
) -> FoundRows:
    found = FoundRows(origins=Origins(origin))

    def read(file: DataFile) -> tuple[bool, list[pa.Table]]:
        groups = list(matching_rows(log, file, sought, origin))
        return bool(groups), [one for one in groups if one is not None]

    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="erasure") as pool:
        for file, (is_read, tables) in zip(files, pool.map(read, files), strict=True):
            found.read += is_read
            rows = sum(table.num_rows for table in tables)
            if not rows:
                continue
            found.files.append(file)
            found.rows += rows
            for table in tables:
                found.origins.add(table)
    return found


def matching_rows(
    log: TableLog, file: DataFile, sought: Sought, origin: OriginColumns
) -> Iterator[pa.Table | None]:
    """Where the feed's rows of a file came from that are sought.

    Yields:
        The columns of the rows' origins, for each group of rows that was read; None if it has none.
    """
    own: RowSet = Own(origin) if origin.whose is not None else Everything()
    place = log.data_file(file.path)
    with log.store.open_for_reading(place) as source, pq.ParquetFile(source) as opened:
        names = opened.schema_arrow.names
        there = [name for name in sought.columns if name in names]
        identity = list(dict.fromkeys([*Origins(origin).columns(names), *own.columns(names)]))
        for group in range(opened.num_row_groups if there else 0):
            if _has_none(source, opened, group, there, sought.values):
                continue
            rows = opened.read_row_group(group, columns=there, use_threads=False)
            mask = np.zeros(rows.num_rows, dtype=np.bool_)
            for name in there:
                mask |= np.asarray(pc.fill_null(sought.test(rows[name]), pa.scalar(value=False)))
            if not mask.any():
                yield None
                continue
            places = opened.read_row_group(group, columns=identity, use_threads=False)
            mask &= own.mask(places)
            yield places.filter(pa.array(mask))


def _has_none(
    source: Readable, opened: pq.ParquetFile, group: int, names: Collection[str], known: Values
) -> bool:
    """Whether bounds or filters of all columns say that a group of rows has no wanted value."""
    told = opened.metadata.row_group(group)
    chunks = [told.column(number) for number in range(told.num_columns)]
    own = {chunk.path_in_schema: chunk for chunk in chunks if chunk.path_in_schema in names}
    return all(
        name in known
        and name in own
        and (_is_beyond(own[name], known[name]) or rules_out(source, own[name], known[name]))
        for name in names
    )


def _is_beyond(chunk: pq.ColumnChunkMetaData, values: pa.Array) -> bool:
    """Whether the bounds of a column in a group of rows say that it has none of the values."""
    told = chunk.statistics
    if told is None or not told.has_min_max or pa.types.is_binary(values.type):
        return False
    wanted = values.to_pylist()
    is_alike = all(isinstance(bound, str | int) for bound in (told.min, told.max))
    return is_alike and all(one < told.min or one > told.max for one in wanted)
