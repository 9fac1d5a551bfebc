"""Rows of a table as a sink sends them: which are wanted, and their fields, by the feed's SQL.

Spark says what the expressions mean, once for each set of columns; rows are computed by Arrow where
that says the same, and else in a job of Spark's that ends before anything is sent.
"""

from collections.abc import Callable, Collection, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import SparkSession

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.sinks import Sink
from lake_assets.silver.arrow_evaluator import Node, NotEvaluableError, values_of
from lake_assets.silver.selection import Output, Selection, select
from lake_assets.spark.conditions import without_ansi

_WANTED = "wanted"

RowsOf: TypeAlias = Callable[[Mapping[str, pa.Array]], list[dict[str, Any]]]
"""`Target.rows_of`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shaped:
    """Rows that are wanted."""

    rows: pa.Table
    """Which they are: `IDENTITY`."""

    values: list[dict[str, Any]]
    """Their fields, as the target has them."""


class Shaper:
    """Shapes rows of a feed's tables for one sink."""

    def __init__(
        self,
        session: SparkSession,
        feed: Feed,
        sink: Sink,
        rows_of: RowsOf,
        *,
        hidden: Collection[str],
    ) -> None:
        """Nothing is compiled yet.

        Args:
            session: the sink's own.
            feed: whose sink.
            sink: whose shape.
            rows_of: its target's.
            hidden: columns that are sent only where `select` names them.
        """
        self._hidden = hidden
        self._session, self._sink, self._rows_of = session, sink, rows_of
        self._thing = f"sink {sink.name!r} of feed {feed.feed!r}"
        self._feed = feed.feed
        self._known: dict[pa.Schema, Selection] = {}

    def shape(self, rows: pa.RecordBatch, identity: pa.Table) -> Shaped:
        """The wanted ones of a table's rows, which have all of its columns, in their order.

        `identity` (`IDENTITY`) says which they are.

        Raises:
            FeedError: an expression does not fit the columns.
        """
        columns = self._columns(rows)
        if self._sink.where is not None:
            wanted = pc.fill_null(columns.pop(_WANTED), fill_value=False)
            identity = identity.filter(wanted)
            columns = {name: column.filter(wanted) for name, column in columns.items()}
        return Shaped(rows=identity, values=self._rows_of(columns))

    def ensure_fits(self, columns: pa.Schema) -> None:
        """Compile for a table's columns; raises as `shape`."""
        self._selection(columns)

    def _columns(self, rows: pa.RecordBatch) -> dict[str, pa.Array]:
        selection = self._selection(rows.schema)
        names = [*self._names(rows.schema), *([_WANTED] if self._sink.where else [])]
        known: dict[Node, Any] = {}
        made: dict[str, pa.Array] = {}
        left: dict[str, Output] = {}
        for name, output in zip(names, selection.outputs, strict=True):
            column = _computed(output, rows, known)
            if column is None:
                left[name] = output
            else:
                made[name] = column
        if left:
            made |= self._by_spark(selection, rows, left)
        return {name: made[name] for name in names}

    def _by_spark(
        self, selection: Selection, rows: pa.RecordBatch, outputs: Mapping[str, Output]
    ) -> dict[str, pa.Array]:
        reads = sorted({name for output in outputs.values() for name in output.reads})
        table = pa.Table.from_batches([rows.select(reads)])
        items = {item.rpartition(" as ")[2].strip("`"): item for item in selection.sql}
        with without_ansi(self._session):
            frame = self._session.createDataFrame(table).selectExpr(
                *(items[output.name] for output in outputs.values())
            )
            found = frame.toArrow().combine_chunks()
        return {name: _one(found[output.name]) for name, output in outputs.items()}

    def _names(self, columns: pa.Schema) -> list[str]:
        if self._sink.select is not None:
            return list(self._sink.select)
        return [name for name in columns.names if name not in self._hidden]

    def _selection(self, columns: pa.Schema) -> Selection:
        if columns not in self._known:
            if self._sink.select is not None:
                sqls = list(self._sink.select.values())
            else:
                sqls = [f"`{name.replace('`', '``')}`" for name in self._names(columns)]
            # Named by us: a field may be called as silver's own columns are.
            items = [f"({sql}) as `field_{number}`" for number, sql in enumerate(sqls)]
            if self._sink.where is not None:
                items.append(f"({self._sink.where}) as `{_WANTED}`")
            found = select(self._session, self._feed, columns, items, thing=self._thing)
            if self._sink.where is not None and not pa.types.is_boolean(found.outputs[-1].kind):
                fact = f"`where` is {found.outputs[-1].kind}, and no condition"
                raise FeedError(self._thing, fact, "Compare it with something: `score > 0`")
            self._known[columns] = found
        return self._known[columns]


def _computed(
    output: Output, rows: pa.RecordBatch, known: MutableMapping[Node, Any]
) -> pa.Array | None:
    if output.source is not None:
        return rows[output.source]
    if output.node is None:
        return None
    try:
        return values_of(output.node, rows, known)
    except NotEvaluableError:
        return None


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
