"""A batch's calls: its rows read piece by piece, shaped, and put together in a fixed order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import compress
from typing import Any, TypeAlias
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.commit import DataFile
from lake_assets.delta.deletion_vectors import Mask, kept_rows, undeleted
from lake_assets.delta.files_between import files_between
from lake_assets.delta.increments import Point
from lake_assets.delta.log_history import open_table
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_log import log_of
from lake_assets.model.tables import TableRef
from lake_assets.sinks.base import IDENTITY, Call, Target
from lake_assets.sinks.batches import Part, SinkBatch
from lake_assets.sinks.deliveries import Deliveries
from lake_assets.sinks.shape import Shaped, Shaper
from lake_assets.spark.scan import rows_of_file
from lake_assets.storage.store import Store
from lake_assets.storage.uri import LakeUri

_PIECE_ROWS = 4_096
"""Rows that are shaped at once: some 20 ms of this process, and a few MB."""

_LONGEST_NAME = 120
"""Characters of a source's name in a key, of which many APIs take 255."""


@dataclass(slots=True)
class CallMaker:
    """Makes the calls of batches of one sink."""

    lake: Store
    identity: str
    """Of the sink, in its lake."""

    shaper: Shaper
    deliveries: Deliveries
    target: Target
    _columns: dict[TableRef, pa.Schema] = field(default_factory=dict)

    def take_in(self, batch: SinkBatch) -> None:
        """Note which tables have other columns since a batch, also where it has no rows of them."""
        for part in batch.parts:
            if part.has_other_columns:
                self._columns.pop(part.table, None)

    def calls_of(self, batch: SinkBatch) -> Iterator[list[Call]]:
        """The calls that were not recorded yet, in pieces, none of them empty.

        Raises:
            FeedError: an expression of the sink does not fit a table.
            LakeError: a table cannot be read.
        """
        number, left = 0, _Rows.none()
        for part in batch.parts:
            for piece in self._pieces(part):
                rows = left.with_rows(self._new_rows(part, piece, batch.number))
                most, calls = self.target.rows_per_call, []
                whole = rows.count - rows.count % most
                for start in range(0, whole, most):
                    number += 1
                    calls += self._call(number, rows.part(start, most))
                left = rows.part(whole, rows.count - whole)
                if calls:
                    yield calls
        if left.count and (last := self._call(number + 1, left)):
            yield last

    def _new_rows(self, part: Part, piece: pa.RecordBatch, batch: int) -> "_Rows":
        shaped = self.shaper.shape(part.table.relative, piece)
        before, own = self.deliveries.is_recorded(shaped.rows, batch)
        return _Rows.of(shaped, own).only(~before)

    def rows_with(self, table: TableRef, offsets: pa.ChunkedArray) -> Iterator[Shaped]:
        """The wanted rows that a table has now with some offsets, in pieces; none of no table.

        Raises:
            FeedError: an expression of the sink does not fit the table.
            LakeError: the table cannot be read.
        """
        handle, column = open_table(self.lake, table), self.shaper.offset_column
        if handle is None:
            return
        bounds, asked = pc.min_max(offsets).as_py(), offsets.combine_chunks()
        part = Part(
            table=table,
            after=Point(),
            until=Point(version=handle.version()),
            files=tuple(files_between(handle, column, bounds["min"], bounds["max"])),
            has_deleted_rows=True,
        )
        for piece in self._pieces(part):
            having = piece.filter(pc.is_in(piece[column], asked))
            if having.num_rows:
                yield self.shaper.shape(table.relative, having)

    def key_of(self, rows: pa.Table) -> str:
        """As `key_of`, of this sink's rows (`IDENTITY`)."""
        return key_of(self.identity, _origins(rows))

    def _call(self, number: int, rows: "_Rows") -> list[Call]:
        """One call, or none where this batch has recorded all of its rows."""
        rows = rows.only(~rows.is_done)
        if not rows.count:
            return []
        key = key_of(self.identity, rows.origins)
        body = self.target.body_of(rows.values)
        return [Call(number=number, key=key, rows=rows.rows, body=body)]

    def _pieces(self, part: Part) -> Iterator[pa.RecordBatch]:
        log = log_of(self.lake, part.table)
        if not part.files:
            return
        kept: Mapping[LakeUri, Mask] = {}
        if part.has_deleted_rows or part.table not in self._columns:
            handle = log.open(part.until.version)
            features_of(handle).ensure(Use.READ)
            self._columns[part.table] = pa.schema(handle.schema())
            kept = kept_rows(handle)
        columns = self._columns[part.table]
        for file in part.files:
            place = log.data_file(file.path)
            batches = rows_of_file(self.lake, place, columns.names)
            for rows in undeleted(batches, kept.get(place)):
                for start in range(0, rows.num_rows, _PIECE_ROWS):
                    yield _fitting(rows.slice(start, _PIECE_ROWS), columns, file)


def _fitting(rows: pa.RecordBatch, columns: pa.Schema, file: DataFile) -> pa.RecordBatch:
    """Rows with all of a table's columns; null where a file is older than a column."""
    names = set(rows.schema.names)

    def column(wanted: pa.Field) -> pa.Array:
        if wanted.name in names:
            have = rows[wanted.name]
            return have if have.type == wanted.type else have.cast(wanted.type)
        value = file.partition.get(wanted.name)
        return pa.repeat(pa.scalar(value, pa.string()), rows.num_rows).cast(wanted.type)

    def absent(wanted: pa.Field) -> bool:
        return wanted.name not in names and file.partition.get(wanted.name) is None

    arrays = [pa.nulls(rows.num_rows, one.type) if absent(one) else column(one) for one in columns]
    plain = [pa.field(one.name, one.type) for one in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(plain))


_Origin: TypeAlias = tuple[str, str, str, int, int, int, int]
"""A row's `IDENTITY`, its time in microseconds since 1970."""


def _origins(rows: pa.Table) -> list[_Origin]:
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
    _, _, source, partition, offset, _, ordinal = origins[0]
    place = f"{quote(source, safe='')[:_LONGEST_NAME]}/{partition}/{offset}/{ordinal}"
    return f"{place}+{len(origins)}-{digest.hexdigest()}"


def rows_under(key: str) -> int:
    """How many rows go together under a key."""
    return int(key.rpartition("+")[2].partition("-")[0])


@dataclass(frozen=True, slots=True)
class _Rows:
    """Shaped rows that wait for their call."""

    rows: pa.Table
    origins: list[_Origin]
    """Of `rows`, told once for thousands of them."""

    values: list[dict[str, Any]]
    is_done: Mask
    """Which of them their batch has recorded, before it was cut off."""

    @classmethod
    def none(cls) -> "_Rows":
        return cls(IDENTITY.empty_table(), [], [], np.zeros(0, np.bool_))

    @classmethod
    def of(cls, shaped: Shaped, is_done: Mask) -> "_Rows":
        return cls(shaped.rows, _origins(shaped.rows), shaped.values, is_done)

    @property
    def count(self) -> int:
        return len(self.values)

    def only(self, mask: Mask) -> "_Rows":
        if mask.all():
            return self
        values, origins = list(compress(self.values, mask)), list(compress(self.origins, mask))
        return _Rows(self.rows.filter(pa.array(mask)), origins, values, self.is_done[mask])

    def with_rows(self, other: "_Rows") -> "_Rows":
        if not self.count:
            return other
        return _Rows(
            pa.concat_tables([self.rows, other.rows]).combine_chunks(),
            self.origins + other.origins,
            self.values + other.values,
            np.concatenate([self.is_done, other.is_done]),
        )

    def part(self, start: int, count: int) -> "_Rows":
        end = start + count
        return _Rows(
            self.rows.slice(start, count),
            self.origins[start:end],
            self.values[start:end],
            self.is_done[start:end],
        )
