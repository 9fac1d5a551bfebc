"""Rows that are erased, told in Spark's workers: by a column's value, or by where they came from.

Such a row goes to no table but that of erased rows, which has where it was and no value of it.
Whose rows are erased is `state.erasure_ledger`'s.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.delta.origins import Mask, Within, origin_schema
from lake_assets.formats.base import Decoded
from lake_assets.model.erasures import Erasure, Erasures, digest_of, digests_of
from lake_assets.model.misfits import RESCUED
from lake_assets.model.origins import OriginColumns
from lake_assets.model.transforms import ELEMENT
from lake_assets.parquet.writer import TABLE
from lake_assets.silver.rescued_persons import rows_naming, texts_within
from lake_assets.silver.rows import DETAIL, REFUSED_AT
from lake_assets.silver.rows_in_several_tables import are_first, spread_to_rows
from lake_assets.silver.value_texts import texts_of

ERASED = "erased"
"""Reason of a row on its way to the table of erased rows; quarantine never has it."""

_INSTANT = pa.timestamp("us", tz="UTC")
_NO_NUMBER = pa.scalar(None, pa.int32())

DecodedRows: TypeAlias = Iterable[tuple[pa.RecordBatch, Decoded]]


def erased_at(keys: int) -> int:
    """Place of the table of erased rows, beside those of so many keys."""
    return keys + 2


def erased_schema(origin: OriginColumns) -> pa.Schema:
    """Columns of `bronze_{feed}_erased`.

    Which erasure it was is null of a row that was taken again and told by where it was alone.
    """
    return pa.schema(
        [*origin_schema(origin), pa.field("erasure", pa.string()), pa.field("erased_at", _INSTANT)]
    )


def erased_sources(origin: OriginColumns) -> tuple[str, ...]:
    """Columns of placed rows that become `erased_schema`, in the same order."""
    silver, parts = origin.in_silver, ("name", "partition", "offset", "time")
    named = (getattr(silver, part) for part in parts if getattr(origin, part))
    return (*named, *origin.further, DETAIL, REFUSED_AT)


@dataclass(frozen=True, kw_only=True, slots=True)
class RowEraser:
    """Tells which rows of a feed are erased; pickled once a job."""

    feed: str
    origin: OriginColumns
    erasures: Erasures
    places: Within | None = None
    """Where rows were that are erased, whatever they hold. None of a feed that makes several rows
    of one: of these some may be other persons'."""

    _by_column: Mapping[str, Mapping[str, tuple[Erasure, ...]]] = field(init=False)

    def __post_init__(self) -> None:
        """Have each column's digests at hand."""
        by_column = {column: self.erasures.of(column) for column in self.erasures.columns}
        object.__setattr__(self, "_by_column", by_column)

    def decoded(self, rows: DecodedRows) -> Iterator[tuple[pa.RecordBatch, Decoded]]:
        """Decoded rows; of erased ones the reason says so, and the detail by which erasure."""
        for batch, decoded in rows:
            yield batch, self.judged(batch, decoded)

    def placed(self, rows: Iterable[pa.RecordBatch], keys: int) -> Iterator[pa.RecordBatch]:
        """Placed rows whose keys made columns of them, judged by these.

        Args:
            rows: that come to the tables of `keys` keys, and others.
            keys: how many there are.
        """
        for batch in rows:
            places = batch[TABLE].fill_null(-1).to_numpy(zero_copy_only=False)
            is_key = (places >= 0) & (places < keys)
            found = self._found([batch], batch, self.origin.in_silver)
            is_erased = spread_to_rows(batch, is_key & found.mask)
            yield found.placed(batch, is_erased, erased_at(keys)) if is_erased.any() else batch

    def judged(self, batch: pa.RecordBatch, decoded: Decoded) -> Decoded:
        """What became of rows of bronze, as `decoded` has it; what it says are erased stay so."""
        shown = [decoded.columns] if decoded.clear is None else [decoded.clear, decoded.columns]
        found = self._found(shown, batch, self.origin)
        mask = found.mask
        if self.places is not None:
            mask = mask | self.places.mask(pa.Table.from_batches([batch]))
        mask &= ~_are_erased(decoded)
        if not mask.any():
            return decoded
        is_erased = pa.array(mask)
        return replace(
            decoded,
            reason=pc.if_else(is_erased, ERASED, decoded.reason),
            detail=pc.if_else(is_erased, found.ids, decoded.detail),
            question=pc.if_else(is_erased, _NO_NUMBER, decoded.question),
        )

    def _found(
        self, shown: Iterable[pa.RecordBatch], batch: pa.RecordBatch, columns: OriginColumns
    ) -> "_Found":
        """By row, the first erasure of a value that it has.

        Args:
            shown: the rows' columns, perhaps before and after they were hidden.
            batch: the same rows, with where they came from.
            columns: what these are called in it.
        """
        ids: dict[int, str] = {}
        for row, erasures in (hit for rows in shown for hit in self._hits_in(rows)):
            found = self._concerned(erasures, batch, row, columns)
            if found is not None:
                ids.setdefault(row, found)
        return _Found(ids, batch.num_rows)

    def _hits_in(self, rows: pa.RecordBatch) -> Iterator[tuple[int, tuple[Erasure, ...]]]:
        """Rows with a value in a column that an erasure names, or in what did not fit one."""
        for name in rows.schema.names:
            if (digests := self._by_column.get(name.lower())) is not None:
                yield from self._hits(name, rows[name], digests)
        if RESCUED in rows.schema.names:
            yield from rows_naming(rows[RESCUED], self._by_column, self._rescued)

    def _hits(
        self, name: str, values: pa.Array, digests: Mapping[str, tuple[Erasure, ...]]
    ) -> Iterator[tuple[int, tuple[Erasure, ...]]]:
        """Rows with a value that an erasure names; each distinct value is hashed once."""
        texts = texts_of(values)
        if texts is None:
            return
        digest, encoded = digests_of(self.erasures.key, name), texts.dictionary_encode()
        known = [
            digests.get(digest(text)) if text is not None else None
            for text in encoded.dictionary.to_pylist()
        ]
        hits = [number for number, erasures in enumerate(known) if erasures]
        if not hits:
            return
        numbers = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(np.isin(numbers, hits)).tolist():
            yield row, known[numbers[row]] or ()

    def _rescued(self, text: str) -> tuple[Erasure, ...] | None:
        """The erasures of values that JSON has under the names of their columns."""
        key, found = self.erasures.key, texts_within(text, self._by_column)
        every = [self._by_column[name].get(digest_of(key, name, value)) for name, value in found]
        return tuple(one for its in every if its for one in its) or None

    def _concerned(
        self,
        erasures: Iterable[Erasure],
        batch: pa.RecordBatch,
        row: int,
        columns: OriginColumns,
    ) -> str | None:
        """Which of a value's erasures a row there is erased by, if any."""
        part = batch[columns.partition][row].as_py() if columns.partition else 0
        place, offset = (batch[columns.name][row].as_py(), part), batch[columns.offset][row].as_py()
        return next((one.id for one in erasures if one.concerns(self.feed, place, offset)), None)


def _are_erased(decoded: Decoded) -> Mask:
    found = pc.equal(decoded.reason, ERASED).fill_null(fill_value=False)
    mask: Mask = found.to_numpy(zero_copy_only=False)
    return mask


@dataclass(frozen=True, slots=True)
class _Found:
    """The erasures that rows are erased by."""

    by_row: Mapping[int, str]
    rows: int

    @property
    def ids(self) -> pa.Array:
        return pa.array(map(self.by_row.get, range(self.rows)), pa.string(), size=self.rows)

    @property
    def mask(self) -> Mask:
        mask = np.zeros(self.rows, dtype=np.bool_)
        mask[[*self.by_row]] = True
        return mask

    def placed(self, batch: pa.RecordBatch, is_erased: Mask, erased: int) -> pa.RecordBatch:
        """The batch with these rows in the table of erased ones, each once."""
        ids = _shared(self.ids, batch, is_erased)
        table = pc.if_else(pa.array(is_erased), _NO_NUMBER, batch[TABLE])
        goes = pa.array(is_erased & are_first(batch))
        changes = {
            TABLE: pc.if_else(goes, pa.scalar(erased, pa.int32()), table),
            DETAIL: pc.if_else(pa.array(is_erased), ids, batch[DETAIL]),
        }
        return _changed(batch, changes)


def _shared(ids: pa.Array, batch: pa.RecordBatch, is_erased: Mask) -> pa.Array:
    """An erasure's id with each row that a row of several tables is, not the one that has it."""
    known = ids.to_pylist()
    last: str | None = None
    firsts = are_first(batch)
    for row in np.flatnonzero(is_erased).tolist()[::-1]:
        last = known[row] or last
        known[row] = last
        if firsts[row]:
            last = None
    return pa.array(known, pa.string())


def erased_whole(batch: pa.RecordBatch, quarantine: int, erased: int) -> pa.RecordBatch:
    """Rows of values that became several, with each value once among the erased ones.

    Where an element is erased, the raw value has it: it goes to quarantine no more, and what was
    refused of it is erased, too. Elements that nothing is wrong with stay.

    Args:
        batch: with whole values.
        quarantine: index of its table.
        erased: index of that of erased rows.
    """
    table = batch[TABLE].fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    is_erased = table == erased
    if not is_erased.any():
        return batch
    numbers = batch[ELEMENT].fill_null(0).to_numpy(zero_copy_only=False)
    value = np.cumsum(numbers == 0) - 1
    rows = np.flatnonzero(is_erased)
    values, first = np.unique(value[rows], return_index=True)
    gone = is_erased | ((table == quarantine) & np.isin(value, values))
    table[gone] = -1
    table[rows[first]] = erased
    return _changed(batch, {TABLE: pa.array(table, pa.int32(), mask=table < 0)})


def _changed(batch: pa.RecordBatch, changes: Mapping[str, pa.Array]) -> pa.RecordBatch:
    arrays = [changes.get(name, batch[name]) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)
