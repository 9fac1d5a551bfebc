"""The last row that a table has of each partition of a source, by its newest files."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files, written_at
from lake_assets.delta.table_log import TableLog
from lake_assets.model.origins import OriginColumns, Place
from lake_assets.parquet.arrow_types import without_views
from lake_assets.parquet.read_file import opened

_MOST_FILES = 32
"""Files that are looked into: a few milliseconds each, and a batch of streams is one. Fewer may
miss a partition that rows come to rarely."""

_MOST_ROWS = 1_000_000
"""Rows after which no further ones are read: half a second, and 200 MB. Files that were joined have
millions, and all would be read where the last offset is no row, but a transaction's end."""


class NewestRow(NamedTuple):
    """A row of one partition."""

    offset: int
    time: int
    """When its source got it, in microseconds since 1970; any number that a producer may give."""


def newest_rows(
    log: TableLog, handle: DeltaTable, origin: OriginColumns, ends: Mapping[Place, int]
) -> dict[Place, NewestRow]:
    """The row with the greatest offset, as far as the newest files have one that tells its time.

    Args:
        log: of the table.
        handle: the table.
        origin: what the table calls the origin's columns.
        ends: by partition that is asked for, the offset after the last that there may be: once that
            one is found, nothing further is read for it.

    Raises:
        LakeError: the lake cannot be read.
    """
    found: dict[Place, NewestRow] = {}
    if origin.time is None or not ends:
        return found
    files = sorted(zip(written_at(handle), active_files(handle), strict=True), key=_written)
    rows_left = _MOST_ROWS
    for _, file in files[: -_MOST_FILES - 1 : -1]:
        for rows, newest in _of_row_groups(log, file, origin):
            for place, row in newest.items():
                if place in ends and (place not in found or found[place] < row):
                    found[place] = row
            rows_left -= rows
            is_whole = all(p in found and found[p].offset + 1 >= end for p, end in ends.items())
            if is_whole or rows_left <= 0:
                return found
    return found


def _written(file: tuple[int, object]) -> int:
    return file[0]


def _of_row_groups(
    log: TableLog, file: DataFile, origin: OriginColumns
) -> Iterator[tuple[int, dict[Place, NewestRow]]]:
    """Of each row group, the last first, how many rows it has and its newest ones."""
    try:
        with log.store.open_for_reading(log.data_file(file.path)) as source, opened(source) as rows:
            if not {*origin.names} <= {*rows.schema_arrow.names}:
                return  # another release or engine wrote it
            for number in reversed(range(rows.num_row_groups)):
                group = without_views(rows.read_row_group(number, [*origin.names]))
                yield group.num_rows, _newest_of(group, origin)
    except (OSError, ValueError, pa.ArrowException):
        return  # who needs its rows says that it is gone or damaged; others tell as well


def _newest_of(rows: pa.Table, origin: OriginColumns) -> dict[Place, NewestRow]:
    places = [name for name in (origin.name, origin.partition) if name]
    times = rows[origin.time].cast(pa.timestamp("us", tz="UTC"), safe=False).cast(pa.int64())
    rows = rows.select(origin.identity).append_column(origin.time, times)
    named = rows.filter(times.is_valid())
    last = named.group_by(places).aggregate([(origin.offset, "max")])
    newest = last.rename_columns([*places, origin.offset])
    # A join with all rows takes ten times as long as all the rest.
    named = named.filter(pc.is_in(named[origin.offset], value_set=newest[origin.offset]))
    return {
        (row[origin.name], row[origin.partition] if origin.partition else 0): NewestRow(
            row[origin.offset], row[origin.time]
        )
        for row in newest.join(named, [*places, origin.offset]).to_pylist()
    }
