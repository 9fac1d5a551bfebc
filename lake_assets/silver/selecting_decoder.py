"""Decoding with a feed's `select` and `mask` behind it, in Spark's workers.

Which columns there are, and which of them tasks compute, was found before (`silver.selection`);
what Spark computes comes back to its rows here as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.base import Decoded, Decoder, ExpressionQuestion, HasMessageColumns
from lake_assets.silver.arrow_evaluator import NotEvaluableError, values_of
from lake_assets.silver.mask_values import Masks
from lake_assets.silver.selection import Output

_NO_COLUMNS = pa.schema([])


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectingDecoder:
    """A `formats.base.Decoder` whose columns are what `select` makes of another one's."""

    inner: Decoder
    outputs: tuple[Output, ...]
    """What is selected; `Output.source` and `Output.reads` are columns of `inner`."""

    columns: pa.Schema
    """Those of the tables; of those that nobody selects any more, all rows have nulls."""

    masks: Masks = field(default_factory=Masks)
    unused: pa.Schema = _NO_COLUMNS
    by_spark_sql: tuple[str, ...] = ()
    """Where Spark computes columns: what it selects, those among it."""

    by_spark_reads: frozenset[str] = frozenset()
    """Columns of `inner` that this reads."""

    renames: Renames = field(default_factory=Renames)

    @property
    def has_waiting(self) -> bool:
        """As the other decoder says."""
        return self.inner.has_waiting

    @property
    def message_columns(self) -> Mapping[str, frozenset[str]]:
        """As the other decoder, of what is selected: a column that reads one of a message's is its.

        What reads no column is every message's.
        """
        if not isinstance(self.inner, HasMessageColumns):
            return {}
        return {
            message: frozenset(
                one.name for one in self.outputs if not one.reads or names.intersection(one.reads)
            )
            for message, names in self.inner.message_columns.items()
        }

    @property
    def by_spark(self) -> tuple[Output, ...]:
        """The columns that Spark computes; where there are any, `decode` does not do."""
        return tuple(one for one in self.outputs if one.is_by_spark)

    def decode(self, batch: pa.RecordBatch) -> Decoded:
        """Decode bronze rows, and compute what is selected."""
        return self.selected(self.inner.decode(batch), {})

    def selected(self, decoded: Decoded, computed: Mapping[str, pa.Array]) -> Decoded:
        """What `inner` decoded, as the columns that are selected.

        Args:
            decoded: of `inner`.
            computed: by name, the columns that Spark computed.
        """
        rows = _with_unused(decoded.columns, self.inner.unused)
        try:
            made = {one.name: _made(one, rows, computed) for one in self.outputs}
        except NotEvaluableError as problem:
            return self._asked(decoded, str(problem))
        count = rows.num_rows
        arrays = [made.get(one.name, pa.nulls(count, one.type)) for one in self.columns]
        pairs = zip(arrays, self.columns, strict=True)
        cast = [array if array.type == one.type else array.cast(one.type) for array, one in pairs]
        columns = pa.RecordBatch.from_arrays(cast, schema=self.columns)
        return replace(decoded, columns=self.masks.masked(columns))

    def _asked(self, decoded: Decoded, operation: str) -> Decoded:
        """All rows with the question whether Spark computes them."""
        rows = decoded.columns.num_rows
        return replace(
            decoded,
            columns=_nulls(self.columns, rows),
            reason=pa.nulls(rows, pa.string()),
            detail=pa.nulls(rows, pa.string()),
            question=pa.repeat(pa.scalar(0, pa.int32()), rows),
            questions=(ExpressionQuestion(operation),),
        )


def _made(one: Output, rows: pa.RecordBatch, computed: Mapping[str, pa.Array]) -> pa.Array:
    if one.source is not None:
        return rows[one.source]
    return computed[one.name] if one.node is None else values_of(one.node, rows)


def _with_unused(rows: pa.RecordBatch, unused: Sequence[pa.Field]) -> pa.RecordBatch:
    """The rows, with nulls in the columns that no row has used yet."""
    for one in unused:
        rows = rows.append_column(one, pa.nulls(rows.num_rows, one.type))
    return rows


def _nulls(columns: pa.Schema, rows: int) -> pa.RecordBatch:
    arrays = [pa.nulls(rows, one.type) for one in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=columns)
