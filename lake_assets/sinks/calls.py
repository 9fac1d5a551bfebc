"""Rows put together to calls, in a fixed order, under keys that tell which rows they are."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import compress
from typing import Any, TypeAlias
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from lake_assets.delta.deletion_vectors import Mask
from lake_assets.model.tables import Layer
from lake_assets.sinks.base import IDENTITY, Call, Refusal, Target
from lake_assets.sinks.shape import Shaped

_LONGEST_NAME = 120
"""Characters of a source's name in a key, of which many APIs take 255."""


def calls_of(
    pieces: "Iterable[WaitingRows | RefusedRows]", target: Target, identity: str
) -> Iterator[list[Call]]:
    """The calls of a batch that were not recorded yet, in pieces, none of them empty.

    Args:
        pieces: all rows of the batch, the recorded ones among them: they keep the places that they
            had, so that the others go together as before. Each that is refused is a call alone.
        target: whom they are for.
        identity: of the sink, in its lake.
    """
    number, left, most = 0, WaitingRows.none(), target.rows_per_call
    for piece in pieces:
        if isinstance(piece, RefusedRows):
            if calls := list(piece.calls(number, identity)):
                yield calls
            number += len(piece.refusals)
            continue
        rows, calls = left.with_rows(piece), []
        whole = rows.count - rows.count % most
        for start in range(0, whole, most):
            number += 1
            calls += _call(number, rows.part(start, most), target, identity)
        left = rows.part(whole, rows.count - whole)
        if calls:
            yield calls
    if left.count and (last := _call(number + 1, left, target, identity)):
        yield last


def _call(number: int, rows: "WaitingRows", target: Target, identity: str) -> list[Call]:
    """One call, or none where this batch has recorded all of its rows."""
    rows = rows.only(~rows.is_done)
    if not rows.count:
        return []
    key = key_of(identity, rows.origins)
    return [Call(number=number, key=key, rows=rows.rows, body=target.body_of(rows.values))]


_Origin: TypeAlias = tuple[str, str, str, int, int, int, int]
"""A row's `IDENTITY`, its time in microseconds since 1970."""


def origin_tuples(rows: pa.Table) -> list[_Origin]:
    """Which rows they are (`IDENTITY`), as `key_of` takes them."""
    time = IDENTITY.get_field_index("source_time")
    told = rows.set_column(time, "source_time", rows["source_time"].cast(pa.int64()))
    return list(zip(*(told[name].to_pylist() for name in IDENTITY.names), strict=True))


def key_of(identity: str, origins: Sequence[_Origin]) -> str:
    """The `Idempotency-Key` of rows that go together: where the first came from, and a digest.

    The digest is over the sink and the origins of all rows, in their order: the same rows have the
    same key, whenever they are sent, and any others another.
    """
    digest = blake2b(identity.encode(), digest_size=16)
    for origin in origins:
        digest.update(repr(origin).encode())
    table, _, source, partition, offset, _, ordinal = origins[0]
    if table.startswith(f"{Layer.GOLD}/"):
        # Not the row's own key, which may name a person: headers and our log are for others to see.
        source = source.partition("/")[0]
    place = f"{quote(source, safe='')[:_LONGEST_NAME]}/{partition}/{offset}/{ordinal}"
    return f"{place}+{len(origins)}-{digest.hexdigest()}"


def rows_under(key: str) -> int:
    """How many rows go together under a key."""
    return int(key.rpartition("+")[2].partition("-")[0])


@dataclass(frozen=True, slots=True)
class RefusedRows:
    """Rows that cannot be sent."""

    rows: pa.Table
    """Which they are: `IDENTITY`."""

    refusals: Sequence[Refusal]
    is_done: Mask
    """As of `WaitingRows`."""

    def only(self, mask: Mask) -> "RefusedRows":
        """Some of them."""
        left = list(compress(self.refusals, mask))
        return RefusedRows(self.rows.filter(pa.array(mask)), left, self.is_done[mask])

    def calls(self, number: int, identity: str) -> Iterator[Call]:
        """Their calls, after those up to a number, which are not made."""
        origins = origin_tuples(self.rows)
        for place, refusal in enumerate(self.refusals):
            if not self.is_done[place]:
                own = self.rows.slice(place, 1)
                key, later = key_of(identity, [origins[place]]), number + place + 1
                yield Call(number=later, key=key, rows=own, body=None, refusal=refusal)


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """Shaped rows that wait for their call."""

    rows: pa.Table
    origins: list[_Origin]
    """Of `rows`, told once for thousands of them."""

    values: list[dict[str, Any]]
    is_done: Mask
    """Which of them their batch has recorded, before it was cut off."""

    @classmethod
    def none(cls) -> "WaitingRows":
        """No rows."""
        return cls(IDENTITY.empty_table(), [], [], np.zeros(0, np.bool_))

    @classmethod
    def of(cls, shaped: Shaped, is_done: Mask) -> "WaitingRows":
        """Shaped rows, and which of them are recorded."""
        return cls(shaped.rows, origin_tuples(shaped.rows), shaped.values, is_done)

    @property
    def count(self) -> int:
        """How many they are."""
        return len(self.values)

    def only(self, mask: Mask) -> "WaitingRows":
        """Some of them."""
        if mask.all():
            return self
        values, origins = list(compress(self.values, mask)), list(compress(self.origins, mask))
        return WaitingRows(self.rows.filter(pa.array(mask)), origins, values, self.is_done[mask])

    def with_rows(self, other: "WaitingRows") -> "WaitingRows":
        """They, and others after them."""
        if not self.count:
            return other
        return WaitingRows(
            pa.concat_tables([self.rows, other.rows]).combine_chunks(),
            self.origins + other.origins,
            self.values + other.values,
            np.concatenate([self.is_done, other.is_done]),
        )

    def part(self, start: int, count: int) -> "WaitingRows":
        """Some that follow each other."""
        end = start + count
        return WaitingRows(
            self.rows.slice(start, count),
            self.origins[start:end],
            self.values[start:end],
            self.is_done[start:end],
        )
