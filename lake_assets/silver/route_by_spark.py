"""What only Spark computes of what routes read: from decoded rows there, and back.

As `silver.select_by_spark`, one step later: the rows have silver's columns by then.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake_assets.formats.base import Decoded
from lake_assets.silver.demux_task import DecodePlan, Unplaced, place, stage_schema
from lake_assets.silver.kept_rows import decoded_of, kept, travelling, travelling_columns
from lake_assets.spark.batch_spill import receive, send
from lake_assets.spark.jvm import spark_schema

_SPILL = "route"

Decode: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterable[tuple[pa.RecordBatch, Decoded]]]
"""Makes decoded rows of what Spark hands over."""


def routes_by_spark(plan: DecodePlan) -> bool:
    """Whether Spark computes what a route reads before rows can be placed."""
    return any(value.sql for value in plan.routes)


def route_by_spark(frame: DataFrame, decode: Decode, plan: DecodePlan) -> DataFrame:
    """What Spark computes of rows, for `place_routed` in the same tasks.

    Args:
        frame: what is handed over to `decode`.
        decode: makes decoded rows of it.
        plan: of which `routes_by_spark` holds.
    """
    reads = frozenset(name for value in plan.routes if value.sql for name in value.reads)
    known = pa.schema([*plan.decoder.columns, *plan.decoder.unused])
    schema, own = travelling_columns(known, reads), plan.read_names

    def pairs(
        batches: Iterable[pa.RecordBatch],
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        for batch, decoded in decode(batches):
            if batch.num_rows:
                yield kept(batch, decoded, own), travelling(decoded.columns, schema)

    def send_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return send(pairs(batches), _SPILL)

    read = [
        F.expr(value.sql).alias(f"#route_{number}")
        for number, value in enumerate(plan.routes)
        if value.sql
    ]
    return frame.mapInArrow(send_on, spark_schema(schema)).select(*read)


def place_routed(rows: Iterable[pa.RecordBatch], plan: DecodePlan) -> Iterator[pa.RecordBatch]:
    """Place the rows that were kept, by what Spark computed; as `demux_task.decode_task`."""
    schema = stage_schema(plan)
    for batch, decoded, computed in routed_rows(rows, plan):
        yield place(batch, decoded, plan, schema, computed)


def routed_rows(rows: Iterable[pa.RecordBatch], plan: DecodePlan) -> Iterator[Unplaced]:
    """The rows that were kept, with what Spark computed of the routes."""
    names = plan.decoder.columns.names
    for batch, made in receive(rows, _SPILL):
        yield batch, decoded_of(batch, names), _by_route(plan, made.columns)


def _by_route(plan: DecodePlan, made: Sequence[pa.Array]) -> dict[int, pa.Array]:
    numbers = [number for number, value in enumerate(plan.routes) if value.sql]
    return dict(zip(numbers, made, strict=True))
