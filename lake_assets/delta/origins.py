"""Sets of rows, told by where in Kafka they came from: a mask over any table's rows.

Tables name the three columns differently (bronze `offset`, silver `_offset`), so both forms are
found by name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask: TypeAlias = npt.NDArray[np.bool_]

Place: TypeAlias = tuple[str, int]
"""A topic and one of its partitions."""

COLUMNS = ("topic", "partition", "offset")


def origin_columns(names: Iterable[str]) -> list[str]:
    """Of a table's columns, the three that say where a row came from, in the order of `COLUMNS`."""
    prefix = "_" if "_offset" in set(names) else ""
    return [f"{prefix}{name}" for name in COLUMNS]


class RowSet(Protocol):
    """Some of all rows."""

    def mask(self, rows: pa.Table) -> Mask:
        """Which of `rows`, which have the origin's columns, belong to the set."""


@dataclass(frozen=True, slots=True)
class Everything:
    """All rows."""

    def mask(self, rows: pa.Table) -> Mask:
        """True for all."""
        return np.ones(rows.num_rows, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class From:
    """The rows from an offset on, in each partition; of other partitions none."""

    starts: Mapping[Place, int]

    def mask(self, rows: pa.Table) -> Mask:
        """True from the partition's start on."""
        return _compared(rows, self.starts, np.greater_equal)


@dataclass(frozen=True, slots=True)
class Before:
    """The rows below an offset, in each partition; of other partitions none."""

    ends: Mapping[Place, int]

    def mask(self, rows: pa.Table) -> Mask:
        """True below the partition's end."""
        return _compared(rows, self.ends, np.less)


@dataclass(frozen=True, slots=True)
class Both:
    """The rows that two sets have in common."""

    one: RowSet
    other: RowSet

    def mask(self, rows: pa.Table) -> Mask:
        """True where both are."""
        return self.one.mask(rows) & self.other.mask(rows)


@dataclass(frozen=True, slots=True)
class NotIn:
    """All rows but those of a set."""

    rows: RowSet

    def mask(self, rows: pa.Table) -> Mask:
        """True where the set is not."""
        return ~self.rows.mask(rows)


class Origins:
    """Rows named one by one."""

    def __init__(self) -> None:
        """Nothing is in it."""
        self._offsets: dict[Place, list[npt.NDArray[np.int64]]] = {}

    def add(self, rows: pa.Table) -> None:
        """Add the origins of these rows."""
        for place, _, offsets in _by_place(rows):
            self._offsets.setdefault(place, []).append(offsets)

    def __len__(self) -> int:
        """Rows that were added."""
        return sum(len(part) for parts in self._offsets.values() for part in parts)

    def mask(self, rows: pa.Table) -> Mask:
        """True for rows that were added."""
        mask = np.zeros(rows.num_rows, dtype=np.bool_)
        for place, here, offsets in _by_place(rows):
            if place in self._offsets:
                self._offsets[place] = [np.concatenate(self._offsets[place])]
                mask[here] = np.isin(offsets, self._offsets[place][0])
        return mask


def _compared(rows: pa.Table, bounds: Mapping[Place, int], compare: np.ufunc) -> Mask:
    """Which rows' offsets compare so to their partition's bound; of other partitions none."""
    mask = np.zeros(rows.num_rows, dtype=np.bool_)
    for place, here, offsets in _by_place(rows):
        if place in bounds:
            mask[here] = compare(offsets, bounds[place])
    return mask


def _by_place(
    rows: pa.Table,
) -> Iterable[tuple[Place, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """By topic and partition: which rows are there, and their offsets."""
    topic, partition, offset = (rows[name] for name in origin_columns(rows.column_names))
    offsets = offset.to_numpy()
    partitions = partition.to_numpy()
    for name in pc.unique(topic).to_pylist():
        is_topic = pc.equal(topic, name).to_numpy()
        for number in np.unique(partitions[is_topic]):
            here = np.flatnonzero(is_topic & (partitions == number))
            yield (name, int(number)), here, offsets[here]
