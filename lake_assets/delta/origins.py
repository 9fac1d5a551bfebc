"""Sets of rows, told by where they came from: a mask over any table's rows. Pure.

Tables name the columns differently (bronze `offset`, silver `_offset`), so both forms are found by
name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.model.origins import FEED, OriginColumns, Place, Spans

Mask: TypeAlias = npt.NDArray[np.bool_]

_TYPES = {"name": pa.string(), "partition": pa.int32(), "offset": pa.int64()}
_INSTANT = pa.timestamp("us", tz="UTC")
_FURTHER = {
    "_file": pa.string(),
    "_row": pa.int64(),
    "_position": pa.int64(),
    "_source_version": pa.int64(),
    "_shard_id": pa.string(),
    "_sequence_number": pa.string(),
    "_sub_sequence_number": pa.int64(),
}
"""Of what a source may tell beside: a file's name below its folder, the number of a row in it, from
1, its first byte, and the version of a table that added the row; a shard, a record's number in it,
as text, since it has more bits, and a row's number in a record that has several."""


def origin_schema(columns: OriginColumns) -> pa.Schema:
    """The columns that say where a row came from, with their types."""
    named = ((getattr(columns, part), kind) for part, kind in (*_TYPES.items(), ("time", _INSTANT)))
    further = ((name, _FURTHER[name]) for name in columns.further)
    return pa.schema([pa.field(name, kind) for name, kind in (*named, *further) if name])


def columns_in(names: Iterable[str], origin: OriginColumns) -> OriginColumns:
    """What a table with these columns calls those that say where a row came from."""
    return origin.in_silver if origin.in_silver.offset in set(names) else origin


def _identity_in(names: Iterable[str], origin: OriginColumns) -> tuple[str, ...]:
    """Which of a table's columns tell a row, and whose it is where a table has several feeds'."""
    names = set(names)
    columns = columns_in(names, origin)
    is_told = origin.whose is not None and columns == origin.in_silver and FEED in names
    return (*columns.identity, *([FEED] if is_told else []))


def _own(rows: pa.Table, origin: OriginColumns) -> Mask | None:
    """Which rows are of the origin's feed; None if all are, as in its bronze."""
    whose = origin.whose
    if whose is None or columns_in(rows.column_names, origin) != origin.in_silver:
        return None
    if FEED not in rows.column_names:
        return None if whose.has_unnamed else np.zeros(rows.num_rows, dtype=np.bool_)
    is_its = pc.equal(rows[FEED], whose.feed).fill_null(whose.has_unnamed)
    mask: Mask = is_its.to_numpy(zero_copy_only=False) if rows.num_rows else np.zeros(0, np.bool_)
    return mask


def own_of(rows: "RowSet", names: Iterable[str], origin: OriginColumns) -> "RowSet":
    """Those of a set that are of the origin's feed, in a table with these columns.

    A set that is told by offsets has no others in any table; the rest of one may have.
    """
    names, whose = set(names), origin.whose
    if whose is None or columns_in(names, origin) != origin.in_silver:
        return rows
    return rows if whose.has_unnamed and FEED not in names else Both(Own(origin), rows)


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
class Own:
    """The rows of the origin's feed."""

    origin: OriginColumns

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of a row's identity: with none, a file does not tell how many rows it has."""
        return _identity_in(names, self.origin)

    def mask(self, rows: pa.Table) -> Mask:
        """True for the feed's."""
        own = _own(rows, self.origin)
        return np.ones(rows.num_rows, dtype=np.bool_) if own is None else own


@dataclass(frozen=True, slots=True)
class From:
    """The rows from an offset on, in each partition; of other partitions none."""

    starts: Mapping[Place, int]
    origin: OriginColumns

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of a row's identity."""
        return _identity_in(names, self.origin)

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
        return _identity_in(names, self.origin)

    def mask(self, rows: pa.Table) -> Mask:
        """True below the partition's end."""
        return _compared(rows, self.origin, self.ends, np.less)


@dataclass(frozen=True, slots=True)
class Within:
    """The rows of some spans of offsets, in each partition; of other partitions none."""

    spans: Spans
    origin: OriginColumns
    _bounds: dict[Place, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """What `mask` has made of spans: there may be many, and it is asked for each batch."""

    def columns(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of a row's identity."""
        return _identity_in(names, self.origin)

    def mask(self, rows: pa.Table) -> Mask:
        """True in each of the partition's spans."""
        mask = np.zeros(rows.num_rows, dtype=np.bool_)
        for place, here, offsets in _by_place(rows, self.origin):
            if self.spans.get(place):
                firsts, ends = self._bounds_of(place)
                last = np.searchsorted(firsts, offsets, side="right") - 1
                mask[here] = (last >= 0) & (offsets < ends[last])
        return mask

    def _bounds_of(self, place: Place) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """First offsets in their order, and how far those that begin until there reach."""
        if place not in self._bounds:
            firsts, ends = np.array(sorted(self.spans[place]), dtype=np.int64).T
            self._bounds[place] = firsts, np.maximum.accumulate(ends)
        return self._bounds[place]


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
        return _identity_in(names, self._origin)

    def add(self, rows: pa.Table) -> None:
        """Add the origins of these rows."""
        for place, _, offsets in _by_place(rows, self._origin):
            self._offsets.setdefault(place, []).append(offsets)

    def add_spans(self, spans: Spans) -> None:
        """Add the rows of these spans."""
        for place, its in spans.items():
            offsets = [np.arange(first, end, dtype=np.int64) for first, end in its]
            if offsets:
                self._offsets.setdefault(place, []).extend(offsets)

    @property
    def spans(self) -> Spans:
        """The rows that were added."""
        found: dict[Place, list[tuple[int, int]]] = {}
        for place, parts in self._offsets.items():
            offsets = np.sort(np.concatenate(parts))  # one that is there twice parts no run
            runs = np.split(offsets, np.flatnonzero(np.diff(offsets) > 1) + 1)
            found[place] = [(int(run[0]), int(run[-1]) + 1) for run in runs if len(run)]
        return found

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
    """By source and partition: which of the feed's rows are there, and their offsets.

    Rows that came from nowhere are none: where rows land first, some tell how far that is.
    """
    columns, own = columns_in(rows.column_names, origin), _own(rows, origin)
    names, offsets = rows[columns.name], rows[columns.offset].fill_null(-1).to_numpy()
    partitions = (
        np.zeros(rows.num_rows, dtype=np.int32)
        if columns.partition is None
        else rows[columns.partition].to_numpy()
    )
    for name in pc.unique(names).drop_null().to_pylist():
        is_named = pc.equal(names, name).fill_null(fill_value=False).to_numpy()
        is_named = is_named if own is None else is_named & own
        for number in np.unique(partitions[is_named]):
            here = np.flatnonzero(is_named & (partitions == number))
            yield (name, int(number)), here, offsets[here]
