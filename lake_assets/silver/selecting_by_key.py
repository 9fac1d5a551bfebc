"""Keys' own selects, in Spark's workers: what becomes of rows once it is known which key they name.

Which columns there are was found before (`silver.selecting_by_key_format`); what only Spark
computes of them comes back to its rows in `silver.select_keys_by_spark`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import Decoded, Decoder
from lake_assets.silver.arrow_evaluator import Node, values_of
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.route_values import with_unused
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.silver.selection import Output

Places = npt.NDArray[np.int64]

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, kw_only=True, slots=True)
class KeySelect:
    """What is made of the rows of some keys: all that select and hide alike."""

    outputs: Mapping[str, Output]
    """By name; `Output.source` and `Output.reads` are columns that all rows have."""

    masks: Masks = field(default_factory=Masks)
    sql: tuple[str, ...] = ()
    """Its items without stars."""

    reads: tuple[str, ...] = ()
    """What these read."""

    @property
    def by_spark(self) -> tuple[Output, ...]:
        """The columns that Spark computes."""
        return tuple(one for one in self.outputs.values() if one.is_by_spark)

    @property
    def in_tasks(self) -> frozenset[str]:
        """What tasks read to compute columns."""
        computed = (one for one in self.outputs.values() if one.node is not None)
        return frozenset(name for one in computed for name in one.needs)


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectingByKeyDecoder:
    """A `formats.base.Decoder` whose tables have what their keys make of what it decodes.

    `decode` gives what rows have before they are routed; `columns_of` what they have then.
    """

    rows: SelectingDecoder
    """What decodes, with the feed's `select` and nothing hidden yet but in `_rescued`."""

    selects: tuple[KeySelect, ...]
    """Each distinct one; the first is that of keys that have none."""

    by_key: Mapping[str, int]
    """By key that has one of its own, which of them."""

    columns: pa.Schema
    """Those of all keys' tables."""

    unused: pa.Schema = _NO_COLUMNS
    renames: Renames = field(default_factory=Renames)

    @property
    def has_waiting(self) -> bool:
        """As what decodes says."""
        return self.rows.has_waiting

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """As what decodes does: nobody knows the rows' keys yet."""
        return self.rows.decode(batch)

    def names_of(self, key: str) -> frozenset[str]:
        """The columns that a key's rows may have a value in."""
        return frozenset(self.selects[self.by_key.get(key, 0)].outputs)

    @property
    def known(self) -> pa.Schema:
        """What rows have before they are routed, with what no row has used yet."""
        return pa.schema([*self.rows.columns, *self.rows.unused])

    def selects_of(self, tables: pa.Array, keys: Sequence[str]) -> npt.NDArray[np.int64]:
        """By row, which of `selects` makes its columns; -1 of rows that are no key's.

        Args:
            tables: by row, the index of its key; null or beyond them for none.
            keys: those with a table.
        """
        of_keys = np.array([*(self.by_key.get(key, 0) for key in keys), -1], np.int64)
        places = tables.fill_null(len(keys)).to_numpy(zero_copy_only=False)
        found: npt.NDArray[np.int64] = of_keys[np.minimum(places, len(keys))]
        return found

    def columns_of(
        self, rows: pa.RecordBatch, tables: pa.Array, keys: Sequence[str]
    ) -> list[pa.Array]:
        """Rows' columns as their keys make them, `columns`; null where Spark is to compute.

        Args:
            rows: as they were decoded.
            tables: as `selects_of` takes it.
            keys: likewise.

        Raises:
            NotEvaluableError: it is not sure that Spark would say the same of a value.
        """
        rows, chosen = with_unused(rows, self.rows), self.selects_of(tables, keys)
        parts = [
            _Part(self.selects[number], rows, np.flatnonzero(chosen == number))
            for number in map(int, np.unique(chosen[chosen >= 0]))
        ]
        nothing = _Nulls(rows.num_rows)
        return [self._column(one, rows, parts, nothing) for one in self.columns]

    def _column(
        self, column: pa.Field, rows: pa.RecordBatch, parts: Sequence["_Part"], nothing: "_Nulls"
    ) -> pa.Array:
        if parts and (shared := _shared(column.name, parts)):
            source, masks = shared
            return masks.hidden(column.name, rows[source])
        made = [
            (part.places, values)
            for part in parts
            if (values := part.values(column.name)) is not None
        ]
        return scattered(made, rows.num_rows, column.type, nothing)


def _shared(name: str, parts: Sequence["_Part"]) -> tuple[str, Masks] | None:
    """The column that all parts have under a name as it is, and how all hide it."""
    first, *others = (part.select for part in parts)
    one = first.outputs.get(name)
    if one is None or one.source is None:
        return None
    for other in others:
        has = other.outputs.get(name)
        if has is None or has.source != one.source or other.masks.of(name) != first.masks.of(name):
            return None
    return one.source, first.masks


class _Nulls:
    """Columns without values, one a type."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._made: dict[pa.DataType, pa.Array] = {}

    def of(self, kind: pa.DataType) -> pa.Array:
        if kind not in self._made:
            self._made[kind] = pa.nulls(self._rows, kind)
        return self._made[kind]


class _Part:
    """Rows of keys that select alike, and where they are among all."""

    def __init__(self, select: KeySelect, rows: pa.RecordBatch, places: Places) -> None:
        self.select, self.places = select, places
        self._rows = rows
        self._is_all = len(places) == rows.num_rows
        self._own = None if self._is_all else pa.array(places)
        self._known: dict[Node, pa.Array] = {}
        self._batch: pa.RecordBatch | None = None

    def values(self, name: str) -> pa.Array | None:
        """What its rows have in a column, hidden; None if it has none, or Spark computes it."""
        one = self.select.outputs.get(name)
        if one is None or one.is_by_spark:
            return None
        if one.node is not None:
            made = values_of(one.node, self._read(), self._known)
        else:
            made = self._taken(str(one.source))
        return self.select.masks.hidden(name, made)

    def _taken(self, name: str) -> pa.Array:
        values = self._rows[name]
        return values if self._own is None else values.take(self._own)

    def _read(self) -> pa.RecordBatch:
        if self._batch is None:
            names = sorted(self.select.in_tasks)
            arrays = [self._taken(name) for name in names]
            # With its rows counted, also where expressions read no column.
            arrays.append(pa.nulls(len(self.places)))
            self._batch = pa.RecordBatch.from_arrays(arrays, names=[*names, "#row"])
        return self._batch


def scattered(
    made: Sequence[tuple[Places, pa.Array]],
    rows: int,
    kind: pa.DataType,
    nothing: _Nulls | None = None,
) -> pa.Array:
    """Values of some rows at their places; null elsewhere.

    Args:
        made: places, and the values of the rows there.
        rows: how many there are.
        kind: type of the values.
        nothing: nulls, if they were made.
    """
    if not made:
        return (nothing or _Nulls(rows)).of(kind)
    arrays = [values if values.type == kind else values.cast(kind) for _, values in made]
    if len(made) == 1 and len(arrays[0]) == rows:
        return arrays[0]
    at = np.full(rows, -1, np.int64)
    begin = 0
    for (places, _), values in zip(made, arrays, strict=True):
        at[places] = begin + np.arange(len(values))
        begin += len(values)
    return pa.concat_arrays(arrays).take(pa.array(at, mask=at < 0))


def decoder_of_rows(decoder: Decoder) -> Decoder:
    """What makes the columns by which rows are routed, before keys make theirs of them."""
    return decoder.rows if isinstance(decoder, SelectingByKeyDecoder) else decoder


def keys_selects(decoder: Decoder) -> SelectingByKeyDecoder | None:
    """What makes the keys' columns; None if none selects by itself."""
    return decoder if isinstance(decoder, SelectingByKeyDecoder) else None
