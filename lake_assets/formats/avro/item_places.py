"""The items of arrays and maps of many rows: all first ones at once, then all second ones, and on.

Where few rows are left that have more, their items are found one by one (`walk`) and then read at
once: one row with a long array does not cost a step an item.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from lake_assets.formats.avro.cursor import CUT_OFF, Cursor, Longs
from lake_assets.formats.avro.schema import Type
from lake_assets.formats.avro.walk import (
    TOO_MANY,
    WalkError,
    is_fixed,
    items,
    skip_of,
    some_items,
    width_of,
)

Decode: TypeAlias = Callable[[Type, pa.DataType | None, Cursor, str], pa.Array | None]

_FEW = 64
"""Rows for which a step for all costs as much as passing over an item of each in Python."""


@dataclass(slots=True)
class Items:
    """Items that are read, of what a cursor stands at."""

    cursor: Cursor
    parts: tuple[tuple[Type, pa.DataType | None], ...]
    """What an item consists of: a value, or a key and a value; each with what it becomes."""

    decode: Decode
    place: str
    owners: list[Longs] = field(default_factory=list)
    """Of each piece, which of the cursor's rows its items are in."""

    pieces: list[list[pa.Array]] = field(default_factory=list)

    @property
    def least(self) -> int:
        """Bytes of an item, at least."""
        return sum(width_of(kind) for kind, _ in self.parts)

    def read(self) -> None:
        """Read all blocks of all rows."""
        active = np.arange(len(self.cursor))
        while len(active) > _FEW:
            active, counts = self._begin_block(active)
            if not self.least:
                continue  # items without bytes are not read
            if len(active):
                self._read_block(active, counts)
        if len(active):
            self._walk_all(active)

    def counts(self) -> Longs:
        """How many items each row has."""
        owners = np.concatenate(self.owners) if self.owners else np.zeros(0, np.int64)
        return np.bincount(owners, minlength=len(self.cursor)).astype(np.int64)

    def values(self) -> list[pa.Array]:
        """The items' parts, row after row."""
        if not self.pieces:
            return [pa.nulls(0, to) for _, to in self.parts]
        owners = np.concatenate(self.owners)
        arrays = [pa.concat_arrays(part) for part in zip(*self.pieces, strict=True)]
        if (owners[1:] >= owners[:-1]).all():
            return arrays
        order = pa.array(np.argsort(owners, kind="stable"))
        return [array.take(order) for array in arrays]

    def _begin_block(self, active: Longs) -> tuple[Longs, Longs]:
        """Read the head of a block of each; the rows that have one, and of how many items."""
        part = self.cursor.subset(active)
        counts = part.varint(self.place)
        sized = np.flatnonzero(counts < 0)
        if len(sized):
            heads = part.subset(sized)
            heads.varint(self.place)
            part.join(sized, heads)
            counts[sized] = -counts[sized]
        if self.least:
            beyond = (counts < 0) | (counts > (part.end - part.at) // self.least)
            part.refuse(beyond, TOO_MANY, self.place)
            counts = np.where(beyond, 0, counts)
        self.cursor.join(active, part)
        has_items = counts != 0
        return active[has_items], counts[has_items]

    def _read_block(self, active: Longs, counts: Longs) -> None:
        part = self.cursor.subset(active)
        if all(is_fixed(kind) for kind, _ in self.parts):
            steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
            starts = np.repeat(part.at, counts) + self.least * steps
            self._read_at(np.repeat(active, counts), starts, starts + self.least)
            part.at = part.at + self.least * counts
            self.cursor.join(active, part)
            return
        left, on = counts.copy(), np.arange(len(active))
        while len(on) > _FEW:
            ones = part.subset(on)
            self._keep(active[on], ones)
            part.join(on, ones)
            left[on] -= 1
            more = left[on] > 0
            ended = more & (ones.at >= ones.end)
            ones.refuse(ended, CUT_OFF, self.place)
            on = on[more & ~ended]
        self.cursor.join(active, part)
        self._walk_some(active[on], left[on])

    def _walk_some(self, rows: Longs, left: Longs) -> None:
        """Read so many items of each."""
        skips = tuple(skip_of(kind) for kind, _ in self.parts)

        def find(row: int, count: int, data: memoryview) -> tuple[list[int], list[int], int]:
            places: tuple[list[int], list[int]] = [], []
            span = int(self.cursor.at[row]), int(self.cursor.end[row])
            return *places, some_items(data, span, skips, self.least, count, places)

        self._walk(rows, left, find)

    def _walk_all(self, rows: Longs) -> None:
        """Read all further blocks of each."""
        skips = tuple(skip_of(kind) for kind, _ in self.parts)

        def find(row: int, _: int, data: memoryview) -> tuple[list[int], list[int], int]:
            at, end = int(self.cursor.at[row]), int(self.cursor.end[row])
            return items(data, at, end, skips, self.least)

        self._walk(rows, rows, find)

    def _walk(
        self,
        rows: Longs,
        counts: Longs,
        find: Callable[[int, int, memoryview], tuple[list[int], list[int], int]],
    ) -> None:
        starts: list[int] = []
        ends: list[int] = []
        owners: list[int] = []
        data = self.cursor.source.data.data
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            try:
                first, last, at = find(row, count, data)
            except WalkError as problem:
                self.cursor.refuse_one(row, str(problem), self.place)
                continue
            self.cursor.at[row] = at
            starts += first
            ends += last
            owners += [row] * len(first)
        if owners:
            self._read_at(np.array(owners), np.array(starts), np.array(ends))

    def _read_at(self, owners: Longs, starts: Longs, ends: Longs) -> None:
        where = Cursor(self.cursor.source, self.cursor.rows[owners], starts, ends)
        self._keep(owners, where)

    def _keep(self, owners: Longs, where: Cursor) -> None:
        made = [self.decode(kind, to, where, self.place) for kind, to in self.parts]
        if all(one is not None for one in made):
            self.owners.append(owners)
            self.pieces.append([one for one in made if one is not None])
