"""The last row that a table has of each partition of a source, by its newest files."""

from collections.abc import Mapping
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.data_files import active_files, columns_of_file, read_file, written_at
from lake_assets.delta.origins import Place
from lake_assets.delta.table_log import TableLog
from lake_assets.model.origins import OriginColumns

_MOST_FILES = 32
"""Files that are looked into: a few milliseconds each, and a batch of streams is one. Fewer may
miss a partition that rows come to rarely."""


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
            one is found, no further file is read for it.

    Raises:
        LakeError: the lake cannot be read.
    """
    found: dict[Place, NewestRow] = {}
    if origin.time is None:
        return found
    files = sorted(zip(written_at(handle), active_files(handle), strict=True), key=_written)
    for _, file in files[: -_MOST_FILES - 1 : -1]:
        if all(place in found and found[place].offset + 1 >= end for place, end in ends.items()):
            break
        try:
            if not {*origin.names} <= {*columns_of_file(log, file)}:
                continue  # another release or engine wrote it
            rows = read_file(log, file, origin.names)
        except (FileNotFoundError, pa.ArrowException):
            continue  # who needs its rows says that it is gone or damaged; others tell as well
        for place, row in _of_file(rows, origin).items():
            if place in ends and (place not in found or found[place] < row):
                found[place] = row
    return found


def _written(file: tuple[int, object]) -> int:
    return file[0]


def _of_file(rows: pa.Table, origin: OriginColumns) -> dict[Place, NewestRow]:
    places = [name for name in (origin.name, origin.partition) if name]
    times = rows[origin.time].cast(pa.timestamp("us", tz="UTC"), safe=False).cast(pa.int64())
    rows = rows.select(origin.identity).append_column(origin.time, times)
    named = rows.filter(times.is_valid())
    last = named.group_by(places).aggregate([(origin.offset, "max")])
    newest = last.rename_columns([*places, origin.offset])
    return {
        (row[origin.name], row[origin.partition] if origin.partition else 0): NewestRow(
            row[origin.offset], row[origin.time]
        )
        for row in newest.join(named, [*places, origin.offset]).to_pylist()
    }
