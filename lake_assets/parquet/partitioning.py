"""Rows split by the values of partition columns, and those values as Delta's log has them. Pure.

Data files here have their partition columns, too, unlike most engines' (docs/decisions/0054): who
reads a file by its name needs nothing of the log. Such files say so by theirs. Format: the Delta
protocol's "Partition Value Serialization",
https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

WHOLE = "whole"
"""How the name of a file begins that lies in a partition and has the partition columns."""

_FIRST_DAY, _LAST_DAY = date.min, date.max
"""Days that every reader takes; Spark writes others in ways that some do not read."""


def is_whole(path: str) -> bool:
    """Whether a file in a partition has the partition columns."""
    return path.rpartition("/")[2].startswith(f"{WHOLE}-")


def can_partition(kind: pa.DataType) -> bool:
    """Whether a column of this type may be a partition column.

    Not decimals with a fraction: deltalake cannot open a table with -0.5 for a value (1.6.6).
    """
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_signed_integer(kind)
        or (pa.types.is_decimal(kind) and kind.scale == 0)
        or pa.types.is_date32(kind)
    )


def days(times: pa.Array) -> pa.Array:
    """The days of timestamps, in UTC; null of what is no time, or beyond the years 1 to 9999."""
    return _known_days(times.cast(pa.timestamp("us", "UTC")).cast(pa.date32()))


def without_untold(rows: pa.Table, by: Iterable[str]) -> pa.Table:
    """Rows with null in partition columns for what no log can tell so that all readers take it.

    That is an empty text, which is null to some of them, and a day beyond the years 1 to 9999.
    """
    for name in by:
        index, values = rows.schema.get_field_index(name), rows[name]
        told = _told(values)
        if told is not values:
            rows = rows.set_column(index, rows.schema.field(index), told)
    return rows


def untold(rows: pa.Table, by: Iterable[str]) -> int:
    """How many values of rows are null by that."""
    return sum(_told(rows[name]).null_count - rows[name].null_count for name in by)


def _told(values: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = values.type
    if pa.types.is_string(kind):
        return pc.if_else(pc.equal(values, ""), pa.scalar(None, kind), values)
    return _known_days(values) if pa.types.is_date32(kind) else values


def _known_days(found: pa.Array) -> pa.Array:
    is_known = pc.and_(
        pc.greater_equal(found, pa.scalar(_FIRST_DAY)), pc.less_equal(found, pa.scalar(_LAST_DAY))
    )
    return pc.if_else(is_known, found, pa.scalar(None, pa.date32()))


def split(rows: pa.Table, by: Sequence[str]) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """The rows of each combination of values, which are as a log has them; in their order."""
    if not rows.num_rows:
        return
    numbers = np.zeros(rows.num_rows, dtype=np.int64)
    for name in by:
        values = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        indices = values.indices.to_numpy(zero_copy_only=False)
        # Numbered anew after each column, so that they do not grow with the columns.
        numbers = np.unique(numbers * len(values.dictionary) + indices, return_inverse=True)[1]
    order = np.argsort(numbers, kind="stable")
    placed = numbers[order]
    starts = np.concatenate(([0], np.flatnonzero(np.diff(placed)) + 1))
    if len(starts) == 1:
        yield values_of(rows.slice(0, 1), by), rows
        return
    # In one piece, since rows of many chunks are slow to take.
    rows = rows.combine_chunks()
    for start, end in zip(starts, [*starts[1:], len(placed)], strict=True):
        part = rows.take(pa.array(order[start:end]))
        yield values_of(part.slice(0, 1), by), part


def values_of(row: pa.Table, by: Sequence[str]) -> dict[str, str | None]:
    """The values of one row, as a log has them."""
    return {name: row[name].cast(pa.string())[0].as_py() for name in by}


def as_text(values: Mapping[str, str | None]) -> str:
    """Partition values for a manifest."""
    return json.dumps(values)


def with_values(rows: pa.Table, values: Mapping[str, str | None]) -> pa.Table:
    """Rows with what the log says of their partition, which is all that counts."""
    for name, value in values.items():
        index = rows.schema.get_field_index(name)
        field = rows.schema.field(index)
        told = pa.repeat(pa.scalar(value or None, pa.string()), rows.num_rows).cast(field.type)
        rows = rows.set_column(index, field, told)
    return rows
