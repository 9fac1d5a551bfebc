"""Sets of rows, told by where they came from: a mask over any table's rows. Pure.

Tables name the columns differently (bronze `offset`, silver `_offset`), so both forms are found by
name.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.origins import OriginColumns, Place

Mask: TypeAlias = npt.NDArray[np.bool_]

Spans: TypeAlias = Mapping[Place, Sequence[tuple[int, int]]]
"""By partition, first offsets and those after the last."""

_TYPES = {"name": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
_INSTANT = pa.timestamp("us", tz="UTC")


def origin_schema(columns: OriginColumns) -> pa.Schema:
    """The columns that say where a row came from, with their types."""
    named = ((getattr(columns, part), kind) for part, kind in (*_TYPES.items(), ("time", _INSTANT)))
    return pa.schema([pa.field(name, kind) for name, kind in named if name])


def columns_in(names: Iterable[str], origin: OriginColumns) -> OriginColumns:
    """What a table with these columns calls those that say where a row came from."""
    return origin.in_silver if origin.in_silver.offset in set(names) else origin


class RowSet(Protocol):
    """Some of all rows."""

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Which of a table's columns tell."""

    def mask(self, rows: pa.Table) -> Mask:
        """Which of `rows`, which have the origin's columns, belong to the set."""


@dataclass(frozen=True, slots=True)
class Everything:
    """All rows."""

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:  # noqa: ARG002 - none of any
        """None."""
        return ()

    def mask(self, rows: pa.Table) -> Mask:
        """True for all."""
        return np.ones(rows.num_rows, dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class From:
    """The rows from an offset on, in each partition; of other partitions none."""

    starts: Mapping[Place, int]
    origin: OriginColumns

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of a row's identity."""
        return columns_in(names, self.origin).identity

    def mask(self, rows: pa.Table) -> Mask:
        """True from the partition's start on."""
        return _compared(rows, self.origin, self.starts, np.greater_equal)


@dataclass(frozen=True, slots=True)
class Before:
    """The rows below an offset, in each partition; of other partitions none."""

    ends: Mapping[Place, int]
    origin: OriginColumns

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of a row's identity."""
        return columns_in(names, self.origin).identity

    def mask(self, rows: pa.Table) -> Mask:
        """True below the partition's end."""
        return _compared(rows, self.origin, self.ends, np.less)


@dataclass(frozen=True, slots=True)
class Within:
    """The rows of some spans of offsets, in each partition; of other partitions none."""

    spans: Spans
    origin: OriginColumns

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of a row's identity."""
        return columns_in(names, self.origin).identity

    def mask(self, rows: pa.Table) -> Mask:
        """True in each of the partition's spans."""
        mask = np.zeros(rows.num_rows, dtype=np.bool_)
        for place, here, offsets in _by_place(rows, self.origin):
            for first, end in self.spans.get(place, ()):
                mask[here] |= (offsets >= first) & (offsets < end)
        return mask


@dataclass(frozen=True, slots=True)
class Both:
    """The rows that two sets have in common."""

    one: RowSet
    other: RowSet

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those that tell of either."""
        names = list(names)
        return tuple(dict.fromkeys([*self.one.columns(names), *self.other.columns(names)]))

    def mask(self, rows: pa.Table) -> Mask:
        """True where both are."""
        return self.one.mask(rows) & self.other.mask(rows)


@dataclass(frozen=True, slots=True)
class NotIn:
    """All rows but those of a set."""

    rows: RowSet

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those that tell of the set."""
        return self.rows.columns(names)

    def mask(self, rows: pa.Table) -> Mask:
        """True where the set is not."""
        return ~self.rows.mask(rows)


class Origins:
    """Rows named one by one."""

    def __init__(self, origin: OriginColumns) -> None:
        """Nothing is in it."""
        self._origin = origin
        self._offsets: dict[Place, list[npt.NDArray[np.int64]]] = {}

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of a row's identity."""
        return columns_in(names, self._origin).identity

    def add(self, rows: pa.Table) -> None:
        """Add the origins of these rows."""
        for place, _, offsets in _by_place(rows, self._origin):
            self._offsets.setdefault(place, []).append(offsets)

    def __len__(self) -> int:
        """Rows that were added."""
        return sum(len(part) for parts in self._offsets.values() for part in parts)

    def mask(self, rows: pa.Table) -> Mask:
        """True for rows that were added."""
        mask = np.zeros(rows.num_rows, dtype=np.bool_)
        for place, here, offsets in _by_place(rows, self._origin):
            if place in self._offsets:
                self._offsets[place] = [np.concatenate(self._offsets[place])]
                mask[here] = np.isin(offsets, self._offsets[place][0])
        return mask


def _compared(
    rows: pa.Table, origin: OriginColumns, bounds: Mapping[Place, int], compare: np.ufunc
) -> Mask:
    """Which rows' offsets compare so to their partition's bound; of other partitions none."""
    mask = np.zeros(rows.num_rows, dtype=np.bool_)
    for place, here, offsets in _by_place(rows, origin):
        if place in bounds:
            mask[here] = compare(offsets, bounds[place])
    return mask


def _by_place(
    rows: pa.Table, origin: OriginColumns
) -> Iterable[tuple[Place, npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """By source and partition: which rows are there, and their offsets."""
    columns = columns_in(rows.column_names, origin)
    names, offsets = rows[columns.name], rows[columns.offset].to_numpy()
    partitions = (
        np.zeros(rows.num_rows, dtype=np.int32)
        if columns.partition is None
        else rows[columns.partition].to_numpy()
    )
    for name in pc.unique(names).to_pylist():
        is_named = pc.equal(names, name).to_numpy()
        for number in np.unique(partitions[is_named]):
            here = np.flatnonzero(is_named & (partitions == number))
            yield (name, int(number)), here, offsets[here]
