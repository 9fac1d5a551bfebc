"""Calls of a feed's `transform`, in any process: what it gave is checked, failing rows are found.

What a function is to give is found by `silver.transform_trial`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from lake_assets.errors import first_line

Transform: TypeAlias = Callable[[pa.RecordBatch], Any]
"""What a feed names; gives a `pyarrow.RecordBatch` if it keeps its promise."""

_SHOWN = 500
"""Characters of a failure that quarantine keeps: what a line of a log shows, and no whole row."""


class BrokenPromiseError(ValueError):
    """A function gave something else than as many rows, with the columns that it is to give."""


@dataclass(frozen=True, slots=True)
class Transformed:
    """What a function made of some rows."""

    columns: pa.RecordBatch
    """Null in rows for which it failed."""

    failures: tuple[tuple[int, str], ...]
    """Rows for which it failed, in order, and what the last line of the traceback says."""


def transformed(function: Transform, rows: pa.RecordBatch, columns: pa.Schema) -> Transformed:
    """What a function makes of rows; where it fails, of half as many, down to the row that fails.

    Args:
        function: what the feed names.
        rows: what it is given.
        columns: what it is to give.
    """
    parts, failures = _parts(function, rows, columns, 0)
    whole = pa.Table.from_batches(parts, schema=columns).combine_chunks().to_batches()
    return Transformed(whole[0] if whole else _nulls(columns, 0), tuple(failures))


def _parts(
    function: Transform, rows: pa.RecordBatch, columns: pa.Schema, begin: int
) -> tuple[list[pa.RecordBatch], list[tuple[int, str]]]:
    count = rows.num_rows
    try:
        return [conformed(called(function, rows), columns)], []
    except MemoryError:
        raise  # the machine's, and no row's
    except Exception as problem:  # noqa: BLE001 - a function may raise anything
        if count <= 1:
            return [_nulls(columns, count)], [(begin + row, words(problem)) for row in range(count)]
    half = count // 2
    parts, failures = _parts(function, rows.slice(0, half), columns, begin)
    more_parts, more_failures = _parts(function, rows.slice(half), columns, begin + half)
    return parts + more_parts, failures + more_failures


def called(function: Transform, rows: pa.RecordBatch) -> pa.RecordBatch:
    """What a function gives for rows, if that is a batch of as many.

    Raises:
        BrokenPromiseError: it is not.
        Exception: what the function raised.
    """
    made = function(rows)
    if not isinstance(made, pa.RecordBatch):
        message = f"gave {type(made).__name__}, and not a pyarrow.RecordBatch"
        raise BrokenPromiseError(message)
    if made.num_rows != rows.num_rows:
        message = f"gave {made.num_rows} rows for {rows.num_rows}"
        raise BrokenPromiseError(message)
    return made


def conformed(made: pa.RecordBatch, columns: pa.Schema) -> pa.RecordBatch:
    """What a function gave, as the columns that it is to give, in their order.

    Raises:
        BrokenPromiseError: it has others, or a column's values do not fit.
    """
    if sorted(made.schema.names) != sorted(columns.names):
        message = f"gave columns {', '.join(made.schema.names)}, and is to give "
        raise BrokenPromiseError(message + ", ".join(columns.names))
    arrays = []
    for one in columns:
        array = made[one.name]
        try:
            arrays.append(array if array.type == one.type else array.cast(one.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as problem:
            message = f"gave {one.name} as {array.type}, and is to give {one.type}"
            raise BrokenPromiseError(message) from problem
    return pa.RecordBatch.from_arrays(arrays, schema=columns)


def words(problem: Exception) -> str:
    """What the last line of a traceback says, in any case: the kind of error, and its message."""
    try:
        said = first_line(problem)
    except Exception:  # noqa: BLE001 - a function may raise errors of its own kind
        said = "<exception str() failed>"  # as Python's own tracebacks say
    text = f"{type(problem).__name__}: {said}"[:_SHOWN]
    return text.encode(errors="backslashreplace").decode()  # half a character is no text


def _nulls(columns: pa.Schema, rows: int) -> pa.RecordBatch:
    arrays = [pa.nulls(rows, one.type) for one in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)
