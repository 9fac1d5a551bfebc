"""Rows as far as duplicates are told by: key, time and origin, a NumPy array each. Pure.

What makes them of files is `silver.stored_keys`'; what is decided with them, `silver.first_rows`'.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
import numpy.typing as npt

from lake_assets.model.origins import Place
from lake_assets.silver.key_hashes import Mask, Words

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyedRows:
    """Some rows; all arrays are of one length."""

    high: Words
    low: Words
    """Of the key's hash, which tells the tables apart, too."""

    time: Ints
    """Microseconds since 1970."""

    offset: Ints
    place: npt.NDArray[np.int32]
    """Number of the source and its partition (`Numbers`)."""

    table: npt.NDArray[np.int32]
    """Number of the table."""

    def __len__(self) -> int:
        """How many rows."""
        return len(self.high)

    @property
    def nbytes(self) -> int:
        """Of memory."""
        return sum(getattr(self, one.name).nbytes for one in fields(self))

    def take(self, rows: npt.NDArray[np.intp] | Mask) -> Self:
        """Some of them, by number or by mask."""
        return type(self)(**{one.name: getattr(self, one.name)[rows] for one in fields(self)})


def concatenated(parts: Sequence[KeyedRows]) -> KeyedRows:
    """All rows of some parts, in their order."""
    if len(parts) == 1:
        return parts[0]
    kinds = {"high": np.uint64, "low": np.uint64, "place": np.int32, "table": np.int32}
    arrays = {
        one.name: np.concatenate(
            [getattr(part, one.name) for part in parts]
            or [np.zeros(0, kinds.get(one.name, np.int64))]
        )
        for one in fields(KeyedRows)
    }
    return KeyedRows(**arrays)


class Numbers:
    """Numbers of sources and their partitions, in the order in which they come along."""

    def __init__(self) -> None:
        """None is known."""
        self.places: list[Place] = []
        self._by_place: dict[Place, int] = {}

    def of(self, place: Place) -> int:
        """A partition's number."""
        number = self._by_place.setdefault(place, len(self.places))
        if number == len(self.places):
            self.places.append(place)
        return number

    def ranks(self) -> npt.NDArray[np.int32]:
        """By number, where the partition stands among all by source and partition."""
        ranks = np.zeros(len(self.places), np.int32)
        ranks[sorted(range(len(ranks)), key=self.places.__getitem__)] = np.arange(len(ranks))
        return ranks
