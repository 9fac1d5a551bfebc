"""Decoding with a feed's `select` and `mask` behind it, in Spark's workers.

Which columns there are, and which of them tasks compute, was found before (`silver.selection`);
what Spark computes comes back to its rows here as well (`silver.select_by_spark`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import Decoded, Decoder
from lake_assets.formats.questions import ExpressionQuestion
from lake_assets.model.misfits import RESCUED
from lake_assets.silver.arrow_evaluator import Node, NotEvaluableError, values_of
from lake_assets.silver.explode_rows import Elements, Exploded, elements_of, pieces
from lake_assets.silver.explosion import Explosion
from lake_assets.silver.kept_rows import travelling_columns
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.selection import Output
from lake_assets.silver.unfit_arrays import refused_unfit

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, kw_only=True, slots=True)
class Computed:
    """Rows with what tasks compute of their selected columns."""

    bronze: pa.RecordBatch
    """For each, the row of bronze that it comes from."""

    decoded: Decoded
    """What became of it; without columns."""

    made: Mapping[str, pa.Array]
    """By name, what is selected, without what Spark computes."""

    travelling: pa.RecordBatch
    """What Spark computes the rest of; no columns where it computes nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectingDecoder:
    """A `formats.base.Decoder` whose columns are what `select` makes of another one's."""

    inner: Decoder
    outputs: tuple[Output, ...]
    """What is selected; `Output.source` and `Output.reads` are columns of `inner`."""

    columns: pa.Schema
    """Those of the tables; of those that nobody selects any more, all rows have nulls."""

    explosion: Explosion | None = None
    """The array of which each element becomes a row."""

    masks: Masks = field(default_factory=Masks)
    unused: pa.Schema = _NO_COLUMNS
    by_spark_sql: tuple[str, ...] = ()
    """Where Spark computes columns: what it selects, those among it."""

    by_spark_reads: frozenset[str] = frozenset()
    """Columns of `inner`, and of what an element gives, that this reads."""

    renames: Renames = field(default_factory=Renames)

    @property
    def has_waiting(self) -> bool:
        """As the other decoder says."""
        return self.inner.has_waiting

    @property
    def by_spark(self) -> tuple[Output, ...]:
        """The columns that Spark computes; where there are any, `decode` does not do."""
        return tuple(one for one in self.outputs if one.is_by_spark)

    @property
    def travelling(self) -> pa.Schema:
        """What Spark is handed to compute its columns; without any where it computes none."""
        if not self.by_spark:
            return _NO_COLUMNS
        of_elements = self.explosion.columns if self.explosion else _NO_COLUMNS
        known = (*self.inner.columns, *self.inner.unused, *of_elements)
        return travelling_columns(pa.schema(known), self.by_spark_reads)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, and compute what is selected, where each remains one row."""
        (computed,) = self.computed(batch)
        return self.finished(computed, {})

    def computed(self, batch: pa.RecordBatch) -> Iterator[Computed]:
        """Bronze rows decoded, with what tasks compute of what is selected.

        One row stays one, in one piece; or it becomes as many as its array has elements.
        """
        decoded = self.inner.decode(batch)
        rows = _with_unused(self.masks.without_rescued(decoded.columns), self.inner.unused)
        if self.explosion is None:
            yield self._of_rows(batch, decoded, rows)
            return
        if self.explosion.refuses_unfit:
            decoded = refused_unfit(self.explosion, rows, decoded)
        decoded = replace(decoded, given=None)  # of whole values, as the pieces are not
        for start, length in pieces(self.explosion, rows, self._repeated(batch, rows)):
            part = rows.slice(start, length)
            elements = elements_of(self.explosion, part)
            yield self._of_elements(
                elements.bronze(batch.slice(start, length)),
                _taken(_sliced(decoded, start, length), elements),
                part,
                elements,
            )

    def finished(self, computed: Computed, by_spark: Mapping[str, pa.Array]) -> Decoded:
        """The rows as the columns that are selected, hidden as the feed says.

        Args:
            computed: of `computed`.
            by_spark: by name, the columns that Spark computed.
        """
        made, count = {**computed.made, **by_spark}, computed.bronze.num_rows
        arrays = [
            made[one.name] if one.name in made else pa.nulls(count, one.type)
            for one in self.columns
        ]
        pairs = zip(arrays, self.columns, strict=True)
        cast = [array if array.type == one.type else array.cast(one.type) for array, one in pairs]
        columns = pa.RecordBatch.from_arrays(cast, schema=self.columns)
        hidden = [name for name in self.masks.by_column if name in columns.schema.names]
        clear = columns.select(hidden) if hidden else None
        return replace(computed.decoded, columns=self.masks.masked(columns), clear=clear)

    def _of_rows(self, batch: pa.RecordBatch, decoded: Decoded, rows: pa.RecordBatch) -> Computed:
        known: dict[Node, Any] = {}
        try:
            made = {
                one.name: rows[one.source] if one.node is None else values_of(one.node, rows, known)
                for one in self.outputs
                if not one.is_by_spark
            }
        except NotEvaluableError as problem:
            decoded, made = _asked(decoded, str(problem)), self._nothing(rows.num_rows)
        travelling = {name: rows[name] for name in self._needed if name in rows.schema.names}
        return Computed(
            bronze=batch,
            decoded=decoded,
            made=made,
            travelling=self._packed(travelling, rows.num_rows),
        )

    def _of_elements(
        self, bronze: pa.RecordBatch, decoded: Decoded, rows: pa.RecordBatch, elements: Elements
    ) -> Computed:
        count = bronze.num_rows
        exploded = Exploded(rows, elements)
        try:
            made = {
                one.name: exploded.column(str(one.source))
                if one.node is None
                else exploded.values_of(one.node)
                for one in self.outputs
                if not one.is_by_spark
            }
        except NotEvaluableError as problem:
            decoded, made = _asked(decoded, str(problem)), self._nothing(count)
        travelling = {
            name: exploded.column(name)
            for name in self._needed
            if name in elements.columns or name in rows.schema.names
        }
        return Computed(
            bronze=bronze,
            decoded=decoded,
            made=made,
            travelling=self._packed(travelling, count),
        )

    def _repeated(self, batch: pa.RecordBatch, rows: pa.RecordBatch) -> list[pa.Array]:
        """What is there for each element of a value, as far as it may be large."""
        of_bronze = [batch[name] for name in batch.schema.names if name != "value"]
        selected = {one.source for one in self.outputs if one.source} | self._needed
        for one in self.outputs:
            if one.node is not None and not pa.types.is_primitive(one.kind):
                selected |= {*one.reads}
        assert self.explosion is not None  # noqa: S101 - who asks has elements
        of_first = (one.column for one in self.explosion.rescued)
        selected -= {self.explosion.holder, RESCUED, *of_first}
        return [*of_bronze, *(rows[name] for name in rows.schema.names if name in selected)]

    @property
    def _needed(self) -> frozenset[str]:
        """What Spark's own columns read; the rest of its SQL compiles, and nobody looks."""
        return frozenset(name for one in self.by_spark for name in one.needs)

    def _packed(self, needed: Mapping[str, pa.Array], rows: int) -> pa.RecordBatch:
        schema = self.travelling
        if not schema.names:
            return pa.RecordBatch.from_arrays([], schema=schema)
        arrays = [
            needed[one.name] if one.name in needed else pa.nulls(rows, one.type) for one in schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _nothing(self, rows: int) -> dict[str, pa.Array]:
        """Nulls for what tasks compute."""
        made = (one for one in self.outputs if not one.is_by_spark)
        return {one.name: pa.nulls(rows, one.kind) for one in made}


def decoded_rows(
    decoder: Decoder, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[pa.RecordBatch, Decoded]]:
    """Bronze rows decoded; where a value becomes several rows, its row of bronze is there for each.

    The value itself is with the first of them, and null beside the others.
    """
    for batch in batches:
        if isinstance(decoder, SelectingDecoder):
            for computed in decoder.computed(batch):
                yield computed.bronze, decoder.finished(computed, {})
        else:
            yield batch, decoder.decode(batch)


def explodes(decoder: Decoder) -> bool:
    """Whether a value may become several rows."""
    return isinstance(decoder, SelectingDecoder) and decoder.explosion is not None


def divides(decoder: Decoder, route: Collection[str]) -> bool:
    """Whether an element says which key its row is of, so that a value may be of several.

    Args:
        decoder: of the rows.
        route: columns that say where a row goes.
    """
    if not isinstance(decoder, SelectingDecoder) or decoder.explosion is None:
        return False
    of_elements = {*decoder.explosion.columns.names}
    return any(one.name in route and of_elements & {*one.needs} for one in decoder.outputs)


def _asked(decoded: Decoded, operation: str) -> Decoded:
    """All rows with the question whether Spark computes them."""
    rows = len(decoded.reason)
    return replace(
        decoded,
        reason=pa.nulls(rows, pa.string()),
        detail=pa.nulls(rows, pa.string()),
        question=pa.repeat(pa.scalar(0, pa.int32()), rows),
        questions=(ExpressionQuestion(operation),),
    )


def _sliced(decoded: Decoded, start: int, length: int) -> Decoded:
    return replace(
        decoded,
        reason=decoded.reason.slice(start, length),
        detail=decoded.detail.slice(start, length),
        question=decoded.question.slice(start, length),
        message=None if decoded.message is None else decoded.message.slice(start, length),
    )


def _taken(decoded: Decoded, elements: Elements) -> Decoded:
    return replace(
        decoded,
        reason=decoded.reason.take(elements.parents),
        detail=decoded.detail.take(elements.parents),
        question=decoded.question.take(elements.parents),
        message=None if decoded.message is None else decoded.message.take(elements.parents),
    )


def _with_unused(rows: pa.RecordBatch, unused: Sequence[pa.Field]) -> pa.RecordBatch:
    """The rows, with nulls in the columns that no row has used yet."""
    for one in unused:
        rows = rows.append_column(one, pa.nulls(rows.num_rows, one.type))
    return rows
