"""What of decoded rows is judged, by Spark SQL or in Arrow, and how its marks come back to rows.

A condition over one column says the same of equal values, so most columns travel as their distinct
values: a few thousand rows through the JVM instead of a few million. Runs in Spark's workers; which
columns are read is found in `silver.expectation_marks`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake_assets.spark.batch_spill import receive, send

_Ints: TypeAlias = npt.NDArray[np.int64]

MARKS_PER_COLUMN = 62
"""Expectations that share a bigint: a bit each, and its sign stays out of it."""

Marks: TypeAlias = Sequence[_Ints]
"""A bit a row and expectation, set where it is violated, in as many integers as they need; empty
where no row of the batch violates any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """Which columns the expectations read, and the bits of those that read each."""

    by_row: tuple[str, ...] = ()
    """Columns that travel row by row. Not empty if `row_bits` has any bit."""

    row_bits: tuple[int, ...] = ()
    """By column of marks, the bits of the expectations that are judged row by row."""

    by_value: tuple[str, ...] = ()
    """Columns that travel as their distinct values."""

    value_bits: tuple[tuple[int, ...], ...] = ()
    """By column of `by_value` and column of marks, the bits of those that read it alone."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that travel, in their order."""
        return (*self.by_row, *self.by_value)


def evaluated_columns(
    batches: Iterable[pa.RecordBatch], reading: Reading
) -> Iterator[pa.RecordBatch]:
    """First stage: keep the batches beside the task, and let go what Spark SQL must see.

    Rows of what travels stand for rows or for values, which are padded with nulls to one length.
    """
    return send(packed(batch, reading) for batch in batches if batch.num_rows)


def returned(
    rows: Iterable[pa.RecordBatch], reading: Reading
) -> Iterator[tuple[pa.RecordBatch, Marks]]:
    """Second stage: each batch that was kept, and the marks of its rows."""
    for kept, made in receive(rows):
        places = kept.num_columns - len(reading.by_value)
        batch = kept.select(kept.schema.names[:places])
        yield batch, spread(made, kept.columns[places:], kept.num_rows, reading)


def packed(batch: pa.RecordBatch, reading: Reading) -> tuple[pa.RecordBatch, pa.RecordBatch]:
    """The batch with columns for `spread` at its end, and what of it is to be judged."""
    arrays = [batch[name] for name in reading.by_row]
    kept = batch
    for name in reading.by_value:
        encoded = batch[name].dictionary_encode(null_encoding="encode")
        kept = kept.append_column(f"#at_{name}", encoded.indices)
        arrays.append(encoded.dictionary)
    longest = max(len(array) for array in arrays)
    padded = [
        pa.concat_arrays([array, pa.nulls(longest - len(array), array.type)])
        if len(array) < longest
        else array
        for array in arrays
    ]
    return kept, pa.RecordBatch.from_arrays(padded, names=list(reading.columns))


def spread(made: pa.RecordBatch, places: Sequence[pa.Array], rows: int, reading: Reading) -> Marks:
    """The marks of a batch's rows, from those of what was judged.

    Args:
        made: the marks, in columns of `MARKS_PER_COLUMN`.
        places: the columns that `packed` added.
        rows: of the batch.
        reading: as it was packed.
    """
    columns = [column.to_numpy() for column in made.columns]
    at = [place.to_numpy() for place in places]
    values = [int(place.max()) + 1 for place in at]
    totals, is_clean = [], True
    for index, column in enumerate(columns):
        total = np.zeros(rows, dtype=np.int64)
        if reading.row_bits and reading.row_bits[index]:
            total |= column[:rows] & reading.row_bits[index]
        for place, count, bits in zip(at, values, reading.value_bits, strict=True):
            marks = column[:count] & bits[index]
            if marks.any():
                total |= marks[place]
        is_clean = is_clean and not total.any()
        totals.append(total)
    return [] if is_clean else totals
