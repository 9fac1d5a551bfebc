"""Whole rows as 128 bits each: equal where all of their values are, nulls and nested ones too.

Two rows that differ meet with a chance of 1 to 10^20 among a thousand million. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.silver.key_hashes import Hashes, can_be_key, hash_keys

_BITS = 63
"""Columns whose nulls one number tells."""


def hash_rows(rows: pa.RecordBatch, columns: Sequence[str]) -> Hashes:
    """A hash a row, over some of its columns, one at least."""
    found = [rows[name] for name in columns]
    values = [one if can_be_key(one.type) else _as_text(one) for one in found]
    return hash_keys([*values, *_nulls(found)])


def as_bytes(hashes: Hashes) -> list[bytes]:
    """Each hash as up to 16 bytes: without zeros at its end, by which no two get alike."""
    found: list[bytes] = np.stack([hashes.high, hashes.low], axis=1).view("S16").ravel().tolist()
    return found


def _as_text(column: pa.Array) -> pa.Array:
    return pa.array([repr(value) for value in column.to_pylist()], pa.string())


def _nulls(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Which columns are null, since a null's own hash is that of some value."""
    numbers = []
    for start in range(0, len(columns), _BITS):
        bits = np.zeros(len(columns[0]), np.int64)
        for place, column in enumerate(columns[start : start + _BITS]):
            if column.null_count:
                is_null = pc.is_null(column).to_numpy(zero_copy_only=False)
                bits |= is_null.astype(np.int64) << np.int64(place)
        numbers.append(pa.array(bits))
    return numbers


class RowBag:
    """Rows by their hashes, each as often as it is there, from which equal ones are taken out."""

    def __init__(self) -> None:
        """Of no rows; each costs some 150 bytes."""
        self._left: Counter[bytes] = Counter()

    def add(self, hashes: Iterable[bytes]) -> None:
        """Put rows in."""
        self._left.update(hashes)

    def take(self, hashes: Sequence[bytes]) -> npt.NDArray[np.bool_]:
        """Take rows out; which of them were there, each as often as it was."""
        taken = np.zeros(len(hashes), np.bool_)
        for number, one in enumerate(hashes):
            if left := self._left.get(one):
                taken[number] = True
                if left == 1:
                    del self._left[one]
                else:
                    self._left[one] = left - 1
        return taken

    def __bool__(self) -> bool:
        """Whether there are rows left."""
        return bool(self._left)
