"""Whole rows as 128 bits each: equal where all of their values are, nulls and nested ones too.

Two rows that differ meet with a chance of 1 to 10^20 among a thousand million. Pure.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.silver.key_hashes import Hashes, can_be_key, hash_keys
from lake_assets.sinks.far_times import python_values

_BITS = 63
"""Columns whose nulls one number tells."""


def hash_rows(rows: pa.RecordBatch | pa.Table, columns: Sequence[str]) -> Hashes:
    """A hash a row, over some of its columns, one at least."""
    found = [rows[name] for name in columns]
    values = [one if can_be_key(one.type) else _as_text(one) for one in found]
    return hash_keys([*values, *_nulls(found)])


def as_bytes(hashes: Hashes) -> list[bytes]:
    """Each hash as up to 16 bytes: without zeros at its end, by which no two get alike."""
    found: list[bytes] = np.stack([hashes.high, hashes.low], axis=1).view("S16").ravel().tolist()
    return found


def _as_text(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pa.array([repr(value) for value in python_values(column)], pa.string())


def _nulls(columns: Sequence[pa.Array | pa.ChunkedArray]) -> list[pa.Array]:
    """Which columns are null, since a null's own hash is that of some value."""
    numbers = []
    for start in range(0, len(columns), _BITS):
        bits = np.zeros(len(columns[0]), np.int64)
        for place, column in enumerate(columns[start : start + _BITS]):
            if column.null_count:
                is_null = np.asarray(pc.is_null(column))
                bits |= is_null.astype(np.int64) << np.int64(place)
        numbers.append(pa.array(bits))
    return numbers


class RowBag:
    """Rows by their hashes, each as often as it is there, from which equal ones are taken out."""

    def __init__(self, hashes: Sequence[Hashes]) -> None:
        """Of all rows of these; each costs 24 bytes."""
        none = np.empty(0, np.uint64)
        high = np.concatenate([none, *(one.high for one in hashes)])
        low = np.concatenate([none, *(one.low for one in hashes)])
        order = np.lexsort((low, high))
        high, low = high[order], low[order]
        differs = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
        starts = np.flatnonzero(np.concatenate([np.ones(min(len(high), 1), np.bool_), differs]))
        self._high, self._low = high[starts], low[starts]
        self._left = np.diff(np.append(starts, len(high)))

    def take(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Take rows out; which of them were there, each as often as it was."""
        places = self._places(hashes)
        taken = np.zeros(len(places), np.bool_)
        found = np.flatnonzero(places >= 0)
        # By place, in their order: of rows that are alike the first ones are taken.
        found = found[np.argsort(places[found], kind="stable")]
        at = places[found]
        if not len(at):
            return taken
        begins = np.flatnonzero(np.concatenate([[True], at[1:] != at[:-1]]))
        counts = np.diff(np.append(begins, len(at)))
        ranks = np.arange(len(at)) - np.repeat(begins, counts)
        taken[found[ranks < self._left[at]]] = True
        self._left[at[begins]] -= np.minimum(counts, self._left[at[begins]])
        return taken

    def has(self, hashes: Hashes) -> npt.NDArray[np.bool_]:
        """Which rows have their like among those that are left."""
        places = self._places(hashes)
        found = places >= 0
        found[found] = self._left[places[found]] > 0
        return found

    def _places(self, hashes: Hashes) -> npt.NDArray[np.int64]:
        """Where each row's like is; -1 of one without."""
        places = np.searchsorted(self._high, hashes.high).astype(np.int64)
        while True:
            inside = places < len(self._high)
            near = np.where(inside, places, 0)
            is_near = inside & (self._high[near] == hashes.high) if len(self._high) else inside
            is_other = is_near & (self._low[near] != hashes.low) if len(self._high) else is_near
            if not is_other.any():
                return np.where(is_near, places, -1)
            places[is_other] += 1  # another row whose first half is the same

    def __bool__(self) -> bool:
        """Whether there are rows left."""
        return bool(self._left.any())
