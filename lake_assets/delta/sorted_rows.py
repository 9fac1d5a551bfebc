"""The rows of several files in the order of some columns, with a bounded part of them in memory.

The files are read once for the order, which takes these columns alone, and once for each part; what
fits in one part is most of what is ever joined.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Pieces = Callable[[Sequence[str] | None], Iterator[pa.Table]]
"""Reads the rows, always in one order: some columns of them, or all."""


def sortable(schema: pa.Schema, columns: Sequence[str]) -> tuple[str, ...]:
    """Those of some columns that a table has, and that have an order."""
    return tuple(
        name
        for name in columns
        if name in schema.names and not pa.types.is_nested(schema.field(name).type)
    )


def sorted_rows(
    pieces: Pieces, by: Sequence[str], *, at_once: int, group: int
) -> Iterator[pa.Table]:
    """The rows in the order of `by`, nulls last, in groups of a size.

    Args:
        pieces: reads them.
        by: columns, the first of them first.
        at_once: rows in memory, one group at least.
        group: rows of a group.
    """
    keys = pa.concat_tables(pieces(by))
    order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in by]).to_numpy()
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    del keys, order
    at_once = max(1, at_once // group) * group
    for start in range(0, len(places), at_once):
        part = _part(pieces(None), places, start, start + at_once)
        for first in range(0, part.num_rows, group):
            yield part.slice(first, group)


def _part(
    pieces: Iterator[pa.Table], places: npt.NDArray[np.int64], start: int, end: int
) -> pa.Table:
    """The rows whose places in the order are between two, in that order."""
    held: list[pa.Table] = []
    met: list[npt.NDArray[np.int64]] = []
    row = 0
    for piece in pieces:
        here = places[row : row + piece.num_rows]
        row += piece.num_rows
        is_in = (here >= start) & (here < end)
        if is_in.all():
            held.append(piece)
        elif is_in.any():
            held.append(piece.filter(pa.array(is_in)))
        met.append(here[is_in])
    # In one piece, since rows of many chunks are slow to take.
    rows = pa.concat_tables(held).combine_chunks()
    return rows.take(pa.array(np.argsort(np.concatenate(met))))
