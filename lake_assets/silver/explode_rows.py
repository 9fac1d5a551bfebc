"""Rows of which each element of an array becomes one: which rows these are, in Spark's workers.

A row without elements, whether its array is null or empty or it was not decoded, stays one row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.misfits import RESCUED
from lake_assets.model.transforms import ELEMENT
from lake_assets.silver.arrow_evaluator import Column, Constant, Node, parts_of, values_of
from lake_assets.silver.explosion import Explosion
from lake_assets.silver.row_bytes import row_bytes

MOST_ROWS = 1 << 16
"""Rows that come out at once, unless a single value has more elements: a batch may become many."""

MOST_BYTES = 1 << 26
"""Bytes that come out at once of what is repeated beside each element, unless of a single value."""

_VALUE = "value"


@dataclass(frozen=True, slots=True)
class Elements:
    """Rows of elements, beside the rows that they come from."""

    parents: pa.Array
    """int64: for each, the place of the row it comes from."""

    is_first: npt.NDArray[np.bool_]
    """Which are the first of their row."""

    columns: Mapping[str, pa.Array]
    """`Explosion.columns`; null where there is no element. And what did not fit of a value, with
    its first row alone: it grows with the elements, so that repeated it would be their square."""

    def bronze(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """For each the row of bronze; the value with the first one alone, since it may be large."""
        first = pa.array(self.parents.to_numpy(), mask=~self.is_first)
        arrays = [
            column.take(first if name == _VALUE else self.parents)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)


def pieces(
    explosion: Explosion,
    rows: pa.RecordBatch,
    repeated: Sequence[pa.Array] = (),
    *,
    most_rows: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
) -> Iterator[tuple[int, int]]:
    """Where to cut rows so that each piece becomes few enough, or is one row: start, length.

    Args:
        explosion: what makes several of one.
        rows: with the array.
        repeated: columns of the same rows that are there for each element.
        most_rows: rows that a piece may become.
        most_bytes: bytes of `repeated` that it may become.
    """
    counts = np.maximum(_lengths(values_of(explosion.array, rows)), 1)
    sizes = sum(map(row_bytes, repeated), np.zeros(rows.num_rows, np.int64))
    rows_until, bytes_until = np.cumsum(counts), np.cumsum(counts * sizes)
    start = rows_before = bytes_before = 0
    while start < rows.num_rows:
        end = min(
            int(np.searchsorted(rows_until, rows_before + most_rows, "right")),
            int(np.searchsorted(bytes_until, bytes_before + most_bytes, "right")),
        )
        end = max(end, start + 1)
        yield start, end - start
        start = end
        rows_before, bytes_before = int(rows_until[end - 1]), int(bytes_until[end - 1])


def elements_of(explosion: Explosion, rows: pa.RecordBatch) -> Elements:
    """The elements of all rows, in their order."""
    arrays = values_of(explosion.array, rows)
    lengths = _lengths(arrays)
    counts = np.maximum(lengths, 1)
    parents = np.repeat(np.arange(rows.num_rows), counts)
    numbers = np.arange(len(parents)) - (np.cumsum(counts) - counts)[parents]
    is_none = (lengths == 0)[parents]
    found = pc.list_flatten(arrays)
    if is_none.any():
        found = found.take(pa.array(np.cumsum(~is_none) - 1, mask=is_none))
    number = pa.array(numbers.astype(np.int32), mask=is_none)
    made = {ELEMENT: number}
    if explosion.position:
        made[explosion.position] = number
    own = [name for name in explosion.columns.names if name not in made]
    if explosion.is_inline:
        made |= {name: pc.struct_field(found, [index]) for index, name in enumerate(own)}
    else:
        made |= dict.fromkeys(own, found)
    is_first = numbers == 0
    for name in {RESCUED, *(one.column for one in explosion.rescued)}.intersection(
        rows.schema.names
    ):
        if name not in made:
            made[name] = rows[name].take(pa.array(parents, mask=~is_first))
    return Elements(pa.array(parents, pa.int64()), is_first, made)


def _lengths(arrays: pa.Array) -> npt.NDArray[np.int64]:
    lengths: npt.NDArray[np.int64] = pc.list_value_length(arrays).fill_null(0).to_numpy()
    return lengths.astype(np.int64)


class Exploded:
    """Expressions over rows and their elements; what reads no element is computed once a row."""

    def __init__(self, rows: pa.RecordBatch, elements: Elements) -> None:
        """Nothing is computed yet."""
        self._rows, self._elements = rows, elements
        self._of_elements = pa.RecordBatch.from_pydict(dict(elements.columns))
        self._of_rows: dict[Node, pa.Array] = {}
        self._known: dict[Node, pa.Array] = {}

    def column(self, name: str) -> pa.Array:
        """A column of the elements, or of the rows for each of them."""
        if name in self._elements.columns:
            return self._elements.columns[name]
        return self._rows[name].take(self._elements.parents)

    def values_of(self, node: Node) -> pa.Array:
        """What an expression comes to for each element.

        Raises:
            NotEvaluableError: as `arrow_evaluator.values_of`.
        """
        self._spread(node)
        return values_of(node, self._of_elements, self._known)

    def _spread(self, node: Node) -> None:
        """Have `_known` know the largest parts that read no element."""
        if isinstance(node, Constant) or node in self._known:
            return
        if self._reads_elements(node):
            for part in parts_of(node):
                self._spread(part)
        else:
            of_rows = values_of(node, self._rows, self._of_rows)
            self._known[node] = of_rows.take(self._elements.parents)

    def _reads_elements(self, node: Node) -> bool:
        if isinstance(node, Column):
            return node.name in self._elements.columns
        return any(map(self._reads_elements, parts_of(node)))
