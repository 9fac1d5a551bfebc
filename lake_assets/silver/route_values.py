"""What routes read of decoded rows: a text a row, and the key that it means. In Spark's workers.

What is SQL among it is resolved before (`silver.route_expressions`); where a row goes by its keys
is `silver.demux_task`'s.
"""

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lake_assets.formats.base import Decoded, Decoder
from lake_assets.model.routes import Route
from lake_assets.silver.arrow_evaluator import Node, values_of
from lake_assets.silver.rows import headers_in
from lake_assets.sources.kafka.headers import last_values


@dataclass(frozen=True, kw_only=True, slots=True)
class RouteValue:
    """What a route reads; pickled once a job."""

    route: Route

    topic: str
    """Bronze's column with the name of a row's source."""

    node: Node | None = None
    """How tasks compute its SQL; None if it is read otherwise, is Spark's to compute, or reads what
    no row has yet."""

    sql: str = ""
    """What Spark computes; empty if tasks do."""

    reads: tuple[str, ...] = ()
    """Columns of silver that its SQL reads, whoever computes it."""

    def texts(
        self, batch: pa.RecordBatch, decoded: Decoded, decoder: Decoder, computed: pa.Array | None
    ) -> pa.Array:
        """The text of each row, null where it has none: string.

        Args:
            batch: bronze's columns `silver.rows.read_names`.
            decoded: what became of its rows.
            decoder: of them.
            computed: what Spark made of `sql`.

        Raises:
            NotEvaluableError: it is not sure that Spark would say the same of a value.
        """
        return _as_text(self._values(batch, decoded, decoder, computed))

    def _values(
        self, batch: pa.RecordBatch, decoded: Decoded, decoder: Decoder, computed: pa.Array | None
    ) -> pa.Array:
        route, columns = self.route, decoded.columns
        # Null of a column that no row had a message with yet.
        values = pa.nulls(batch.num_rows, pa.string())
        if computed is not None:
            values = computed
        elif self.node is not None:
            values = values_of(self.node, with_unused(columns, decoder))
        elif route.header is not None:
            values = last_values(headers_in(batch), route.header)
        elif route.topic:
            values = batch[self.topic]
        elif route.message and decoded.message is not None:
            values = pa.array(decoded.messages, pa.string()).take(decoded.message)
        elif route.plain_column in columns.schema.names:
            values = columns[route.plain_column]
        return values

    def keys(self, texts: pa.Array) -> pa.Array:
        """The key that each text means."""
        aliases = self.route.aliases
        if not aliases:
            return texts
        at = pc.index_in(texts, value_set=pa.array(list(aliases), pa.string()))
        return pc.coalesce(pa.array(list(aliases.values()), pa.string()).take(at), texts)

    def shown(self, texts: pa.Array) -> pa.Array:
        """What was read of each row, in words: `header event-type = poker`."""
        none = f"no {self.route.what}" if self.route.header is not None else f"{self.route.what} = "
        cut = pc.utf8_slice_codeunits(texts, 0, 100)
        named = pc.binary_join_element_wise(self.route.what, cut, " = ")
        return pc.coalesce(named, pa.scalar(none))


def with_unused(rows: pa.RecordBatch, decoder: Decoder) -> pa.RecordBatch:
    """Decoded rows, with nulls in the columns that no row has used yet."""
    for one in decoder.unused:
        if one.name not in rows.schema.names:
            rows = rows.append_column(one, pa.nulls(rows.num_rows, one.type))
    return rows


def _as_text(column: pa.Array) -> pa.Array:
    if not pa.types.is_binary(column.type):
        return column if pa.types.is_string(column.type) else column.cast(pa.string())
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:
        texts = [value and value.decode(errors="replace") for value in column.to_pylist()]
        return pa.array(texts, pa.string())
