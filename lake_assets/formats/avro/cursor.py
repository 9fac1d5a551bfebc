"""Where many datums stand at once: numbers and positions read for all of them, a step a field.

A row that is bad is marked with what is wrong and goes on with nothing; the others do not notice.
What the numbers mean is the business of `leaves` and `nested`.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Longs: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_CONTINUED = 0x80

LONGEST = 10
"""Bytes of a varint of 64 bits."""

CUT_OFF = "the value ends too early"


@dataclass(frozen=True, slots=True)
class Source:
    """The bytes of a batch, and what is wrong with its rows."""

    data: npt.NDArray[np.uint8]
    buffer: pa.Buffer
    problems: dict[int, str]
    """By row, the first thing that is wrong."""

    @classmethod
    def of(cls, values: pa.Array) -> "tuple[Source, Longs, Longs]":
        """With where each value begins and ends.

        Args:
            values: binary, without nulls.
        """
        _, offsets, data = values.buffers()
        ends = np.frombuffer(offsets, np.int32)[values.offset : values.offset + len(values) + 1]
        buffer = data if data is not None and data.size else pa.py_buffer(b"\0")
        where = ends.astype(np.int64)
        return cls(np.frombuffer(buffer, np.uint8), buffer, {}), where[:-1], where[1:]


@dataclass(slots=True)
class Cursor:
    """Datums of a schema, one after the other in the order of their bytes."""

    source: Source
    rows: Longs
    """Which row of the batch each is in."""

    at: Longs
    """The next byte of each."""

    end: Longs
    """Where each ends, or what it is in."""

    def __len__(self) -> int:
        """How many there are."""
        return len(self.at)

    def subset(self, which: npt.NDArray[np.intp]) -> "Cursor":
        """Some of them, to read in; `join` brings their positions back."""
        return Cursor(self.source, self.rows[which], self.at[which], self.end[which])

    def copy(self) -> "Cursor":
        """To read the same once more."""
        return Cursor(self.source, self.rows, self.at.copy(), self.end)

    def join(self, which: npt.NDArray[np.intp], part: "Cursor") -> None:
        """Go on where a subset stands."""
        self.at[which] = part.at

    def refuse(self, bad: Flags, problem: str, place: str) -> None:
        """Mark rows, and read nothing more of what is bad in them."""
        which = np.flatnonzero(bad)
        if len(which):
            text = f"{place}: {problem}" if place else problem
            for row in self.rows[which].tolist():
                self.source.problems.setdefault(row, text)
            self.at[which] = self.end[which]

    def refuse_one(self, index: int, problem: str, place: str) -> None:
        """The same of a single one."""
        text = f"{place}: {problem}" if place else problem
        self.source.problems.setdefault(int(self.rows[index]), text)
        self.at[index] = self.end[index]

    def varint(self, place: str, *, bits: int = 64) -> Longs:
        """The next zigzag number of each; 0 in bad rows.

        Args:
            place: the field, for what is wrong.
            bits: 32 refuses what is no `int`.
        """
        data, last = self.source.data, len(self.source.data) - 1
        octets = data[np.minimum(self.at, last)]
        raw = (octets & 0x7F).astype(np.uint64)
        self.at = self.at + 1
        more = np.flatnonzero(octets >= _CONTINUED)
        overlong = np.zeros(len(self.at), np.bool_)
        shift = 7
        while len(more):
            octets = data[np.minimum(self.at[more], last)]
            raw[more] |= (octets & 0x7F).astype(np.uint64) << np.uint64(shift)
            self.at[more] += 1
            shift += 7
            if shift >= 7 * LONGEST:
                overlong[more[octets > 1]] = True
                break
            more = more[octets >= _CONTINUED]
        value = (raw >> np.uint64(1)).view(np.int64) ^ -(raw & np.uint64(1)).view(np.int64)
        bad = self.at > self.end
        if bad.any():
            self.refuse(bad, CUT_OFF, place)
        if overlong.any():
            self.refuse(overlong & ~bad, "a number has more than 64 bits", place)
            bad |= overlong
        if bits == 32:  # noqa: PLR2004 - as Avro names it
            beyond = (value != value.astype(np.int32)) & ~bad
            if beyond.any():
                self.refuse(beyond, "a number is no int of 32 bits", place)
                bad |= beyond
        return np.where(bad, 0, value) if bad.any() else value

    def skip(self, lengths: Longs, place: str) -> tuple[Longs, Flags]:
        """Pass over so many bytes of each.

        Returns:
            Where these begin, and which rows do not have them; there `at` is their end.
        """
        start = self.at
        room = self.end - start
        bad = (lengths < 0) | (lengths > room)
        if bad.any():
            negative = lengths < 0
            self.refuse(negative, "a length is negative", place)
            self.refuse(bad & ~negative, CUT_OFF, place)
            lengths = np.where(bad, 0, lengths)
            start = np.where(bad, self.end, start)
        self.at = start + lengths
        return start, bad

    def window(self, start: Longs, width: int) -> npt.NDArray[np.uint8]:
        """So many bytes from each place, a row each; beyond the data it is anything."""
        places = start[:, None] + np.arange(width)
        found: npt.NDArray[np.uint8] = self.source.data[
            np.minimum(places, len(self.source.data) - 1)
        ]
        return found
