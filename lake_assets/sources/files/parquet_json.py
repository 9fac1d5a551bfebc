"""Rows of a Parquet file as JSON objects, some at a time, whatever is wrong with some of them.

Files and tables of Delta are read by it; which rows, and what else a row has, is theirs to say.
What a value is in JSON is `json_values`'.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.errors import first_line
from lake_assets.sources.files.cutting import MOST_BYTES, TOO_LONG
from lake_assets.sources.files.json_values import objects, plain_type, text_of
from lake_assets.sources.files.opening import is_of_disk

_ROWS = 512
"""Of a batch that is decoded at once. By a dictionary a row of megabytes costs a byte of a file, so
that nothing there tells how large rows are. By four thousand it is a tenth faster."""

_BYTES = 8 * 1024 * 1024
"""Of rows that are handed over at once, about."""

NO_VALUE = (pa.ArrowException, KeyError, OverflowError, RecursionError, TypeError, ValueError)
"""What is raised at values that Python or JSON have not, and at files that are none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Piece:
    """Some rows of a file that follow one another."""

    first: int
    """The number of the first, from 0."""

    values: list[bytes | None]
    problems: list[str | None]
    """Of those without a value, why."""

    end: int
    """The number of the row after them. Where a row group cannot be read on, one row without value
    stands for all of it."""


def pieces_of(
    file: pq.ParquetFile, start: int, end: int, more: Mapping[str, Any] | None = None
) -> Iterator[Piece]:
    """The rows of a file between two, fewer where it ends.

    A row that JSON cannot have, such as one with a date after the year 9999, is one without value.

    Args:
        file: that `opened_in_pieces` opened.
        start: the first row, from 0.
        end: the row after the last.
        more: what each row has beside its own columns.

    Raises:
        OSError: the disk does not give the file.
    """
    plain = pa.schema([field.with_type(plain_type(field.type)) for field in file.schema_arrow])
    first = 0
    for group in range(file.num_row_groups):
        until = first + file.metadata.row_group(group).num_rows
        if until > start and first < end:
            low, high = max(start, first), min(end, until)
            reached = low
            try:
                for rows in _rows_of(file, group, low - first, high - first):
                    for values, problems in _in_pieces(_encoded(_cast(rows, plain), more or {})):
                        yield Piece(
                            first=reached,
                            values=values,
                            problems=problems,
                            end=reached + len(values),
                        )
                        reached += len(values)
                why = "it has fewer rows than it says"
            except (*NO_VALUE, OSError) as problem:
                if is_of_disk(problem):
                    raise
                why = first_line(problem)
            if reached < high:
                words = f"row group {group + 1} cannot be read: {why}"
                yield Piece(first=reached, values=[None], problems=[words], end=high)
        first = until


def _rows_of(file: pq.ParquetFile, group: int, low: int, high: int) -> Iterator[pa.RecordBatch]:
    """The rows of a row group between two of its own."""
    told = file.metadata.row_group(group)
    fitting = _BYTES * told.num_rows // max(1, told.total_byte_size)
    at = 0
    for batch in file.iter_batches(
        max(1, min(_ROWS, fitting)), row_groups=[group], use_threads=False
    ):
        start, end = max(low - at, 0), min(high - at, batch.num_rows)
        if start < end:
            yield batch.slice(start, end - start)
        at += batch.num_rows
        if at >= high:
            return


def _encoded(
    rows: pa.RecordBatch, more: Mapping[str, Any]
) -> Iterator[tuple[bytes | None, str | None]]:
    """Each row as JSON, or why it cannot be."""
    few = max(1, rows.num_rows * _BYTES // max(_BYTES, rows.nbytes))
    for row in (
        row for at in range(0, rows.num_rows, few) for row in _as_json(rows.slice(at, few))
    ):
        try:
            value = row if isinstance(row, str) else text_of({**row, **more} if more else row)
        except NO_VALUE as why:
            value = str(why)
        if isinstance(value, str):
            yield None, f"the row cannot be read: {value}"
        elif len(value) > MOST_BYTES:
            yield None, f"the row {TOO_LONG}"
        else:
            yield value, None


def _cast(rows: pa.RecordBatch, plain: pa.Schema) -> pa.RecordBatch:
    """With values that Python has. Unsafe, since what is below a microsecond goes."""
    if rows.schema.equals(plain):
        return rows
    columns = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(rows.columns, plain, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=plain)


def _as_json(rows: pa.RecordBatch) -> Iterator[dict[str, Any] | str]:
    """Each row, or why JSON has no such values."""
    try:
        yield from objects(rows)
    except NO_VALUE as why:
        if rows.num_rows == 1:
            yield str(why)
            return
        for at in range(rows.num_rows):
            yield from _as_json(rows.slice(at, 1))


def _in_pieces(
    rows: Iterable[tuple[bytes | None, str | None]],
) -> Iterator[tuple[list[bytes | None], list[str | None]]]:
    """Values and problems, some bytes at a time."""
    values, problems, size = list[bytes | None](), list[str | None](), 0
    for value, problem in rows:
        values.append(value)
        problems.append(problem)
        size += len(value or b"")
        if size >= _BYTES:
            yield values, problems
            values, problems, size = [], [], 0
    if values:
        yield values, problems
