"""How old the rows of a table are: by its log, or by the rows where that is silent.

What follows from it is decided by `maintenance.retention`.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, columns_of_file, read_file
from lake_assets.delta.deletion_vectors import has_deleted_rows
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import TableLog
from lake_assets.model.retention import RowAges

_UNSET = datetime(1970, 1, 1, tzinfo=UTC)
"""A time up to here tells nothing: clients have it for one that nobody set (0, or -1 ms)."""

_LAST = datetime.max.replace(tzinfo=UTC)

_KIND = pa.timestamp("us", tz="UTC")


def aged_files(
    log: TableLog, handle: DeltaTable, columns: Sequence[str]
) -> list[tuple[DataFile, RowAges]]:
    """A table's files, with the ages of their rows by its log, or by the rows where it is silent.

    A row's age is told by the first of the columns that has a value after 1970 began, among those
    that the table has, and has as timestamps.

    Raises:
        LakeError: the store cannot be read.
        TableFeatureError: a feature of the table forbids it to change its rows.
    """
    ensure_usable(handle, Use.READ, Use.REWRITE)
    schema = pa.schema(handle.schema().to_arrow())
    columns = timestamps_of(schema, columns)
    told = pa.table(handle.get_add_actions(flatten=True))
    wanted = [f"{kind}.{name}" for name in columns for kind in ("min", "max", "null_count")]
    missing = pa.nulls(told.num_rows).to_pylist()
    stats = {
        name: told[name].to_pylist() if name in told.column_names else missing for name in wanted
    }
    return [
        (
            file,
            _by_stats(file, columns, {name: values[at] for name, values in stats.items()})
            or _by_rows(log, file, columns),
        )
        for at, file in enumerate(active_files(handle))
    ]


def newest_arrival(handle: DeltaTable, columns: Sequence[str]) -> datetime | None:
    """When the newest row of a table came, by its log; None if that does not tell.

    A row came at the earliest of the times that it has, as far as a file's bounds tell: a time in
    the future, such as a producer's clock that is wrong, makes one file look newer at most as far
    as the other times of that file do.

    Args:
        handle: the table.
        columns: timestamps, each of which says by a clock of its own when a row came.
    """
    if has_deleted_rows(handle):
        return None  # bounds are those that a file had with the rows that are deleted in it
    told = pa.table(handle.get_add_actions(flatten=True))
    names = [f"max.{name}" for name in columns if f"max.{name}" in told.column_names]
    newest: list[datetime] = []
    for values in zip(*(told[name].to_pylist() for name in names), strict=True):
        told_times = (_utc(value) for value in values if isinstance(value, datetime))
        times = [time for time in told_times if time > _UNSET]
        if not times:
            return None
        newest.append(min(times))
    return max(newest, default=None)


def timestamps_of(schema: pa.Schema, columns: Sequence[str]) -> list[str]:
    """Those of some columns that a table has, and has as timestamps."""
    return [c for c in columns if c in schema.names and pa.types.is_timestamp(schema.field(c).type)]


def no_timestamps(handle: DeltaTable, columns: Sequence[str]) -> list[str]:
    """Those of some columns that a table has, and has as something else."""
    schema = pa.schema(handle.schema().to_arrow())
    return sorted({*columns} & {*schema.names} - {*timestamps_of(schema, columns)})


def _by_stats(file: DataFile, columns: Sequence[str], stats: dict[str, object]) -> RowAges | None:
    """What the log tells; None if it does not."""
    oldest: list[datetime] = []
    newest: list[datetime] = []
    for name in columns:
        least, greatest, nulls = (stats[f"{kind}.{name}"] for kind in ("min", "max", "null_count"))
        if not isinstance(nulls, int) or not file.rows:
            return None
        if nulls < file.rows:
            if not isinstance(least, datetime) or not isinstance(greatest, datetime):
                return None
            if _utc(least) <= _UNSET:
                return None
            oldest.append(_utc(least))
            newest.append(_utc(greatest))
        if not nulls:
            return RowAges(oldest=min(oldest), newest=max(newest))
    return RowAges(oldest=min(oldest, default=None), newest=None)


def _by_rows(log: TableLog, file: DataFile, columns: Sequence[str]) -> RowAges:
    # A file may be older than a column.
    have = [name for name in columns_of_file(log, file) if name in columns]
    times = times_of(read_file(log, file, have), columns)
    bounds = pc.min_max(times)
    least, greatest = bounds["min"].as_py(), bounds["max"].as_py()
    return RowAges(
        oldest=None if least is None else _utc(least),
        newest=None if times.null_count or greatest is None else _utc(greatest),
    )


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def times_of(rows: pa.Table, columns: Sequence[str]) -> pa.ChunkedArray:
    """When each row is from, in microseconds, up to the year 9999; null where nothing tells it."""
    unset, last = pa.scalar(_UNSET, _KIND), pa.scalar(_LAST, _KIND)
    there = [rows[name].cast(_KIND) for name in columns if name in rows.column_names]
    known = [pc.if_else(pc.greater(times, unset), times, pa.scalar(None, _KIND)) for times in there]
    told = [pc.if_else(pc.greater(times, last), last, times) for times in known]
    return pc.coalesce(*told) if told else pa.chunked_array([pa.nulls(rows.num_rows, _KIND)])
