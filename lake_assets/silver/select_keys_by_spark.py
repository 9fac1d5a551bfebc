"""What only Spark computes of keys' own selects: from placed rows there, and back.

As `silver.select_by_spark`, later: the rows have their tables by then. Of each select only its own
rows travel, side by side with those of the others, so that it costs what these rows do, however
many selects there are.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lake_assets.parquet.writer import TABLE
from lake_assets.silver.demux_task import DecodePlan, Unplaced, place_with_rows, stage_schema
from lake_assets.silver.route_values import with_unused
from lake_assets.silver.select_by_spark import quoted
from lake_assets.silver.selecting_by_key import KeySelect, SelectingByKeyDecoder, scattered
from lake_assets.silver.selection import Output
from lake_assets.spark.batch_spill import receive, send
from lake_assets.spark.jvm import spark_schema

_SPILL = "keys"

Route: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterable[Unplaced]]
"""Makes rows that are to be placed of what Spark hands over."""

_Numbered: TypeAlias = tuple[int, KeySelect]

_ROW = pa.field("#row", pa.bool_())
"""Travels where no expression reads a column."""


def selects_keys_by_spark(plan: DecodePlan) -> bool:
    """Whether Spark computes columns of some keys after rows were placed."""
    return plan.by_key is not None and bool(_of_spark(plan.by_key))


def select_keys_by_spark(frame: DataFrame, routed: Route, plan: DecodePlan) -> DataFrame:
    """What Spark computes of placed rows, for `selected_keys` in the same tasks.

    Args:
        frame: what is handed over to `routed`.
        routed: makes rows of it that are to be placed.
        plan: of which `selects_keys_by_spark` holds.
    """
    decoder = _decoder(plan)
    travelling = _travelling(decoder)

    def pairs(
        batches: Iterable[pa.RecordBatch],
    ) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
        schema = stage_schema(plan)
        for batch, decoded, computed in routed(batches):
            if batch.num_rows:
                placed, rows = place_with_rows(batch, decoded, plan, schema, computed)
                yield placed, _packed(rows, placed[TABLE], plan, travelling)

    def send_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return send(pairs(batches), _SPILL)

    frame = frame.mapInArrow(send_on, spark_schema(travelling))
    kinds = {one.name: one.dataType for one in spark_schema(decoder.known)}
    for number, select in _of_spark(decoder):
        frame = _computed(frame, number, select, kinds)
    return frame.select(*(F.col(quoted(name)) for name, *_ in _made(decoder)))


def selected_keys(rows: Iterable[pa.RecordBatch], plan: DecodePlan) -> Iterator[pa.RecordBatch]:
    """The placed rows that were kept, with what Spark computed."""
    decoder = _decoder(plan)
    for placed, made in receive(rows, _SPILL):
        yield _with_made(placed, made, decoder, plan)


def _with_made(
    placed: pa.RecordBatch,
    made: pa.RecordBatch,
    decoder: SelectingByKeyDecoder,
    plan: DecodePlan,
) -> pa.RecordBatch:
    chosen = decoder.selects_of(placed[TABLE], plan.keys)
    every = np.arange(placed.num_rows)
    for values, (_, number, output) in zip(made.columns, _made(decoder), strict=True):
        places = np.flatnonzero(chosen == number)
        if not len(places):
            continue
        masks = decoder.selects[number].masks
        own = masks.hidden(output.name, values.slice(0, len(places)))
        at = placed.schema.get_field_index(output.name)
        one, others = placed.schema.field(at), chosen != number
        rest = placed[output.name].take(pa.array(every[others]))
        filled = scattered([(places, own), (every[others], rest)], placed.num_rows, one.type)
        placed = placed.set_column(at, one, filled)
    return placed


def _computed(
    frame: DataFrame, number: int, select: KeySelect, kinds: dict[str, DataType]
) -> DataFrame:
    """The frame with what one select makes in place of what it reads."""
    own = {_name(number, name): name for name in _needed(select)}
    rest = [F.col(quoted(name)) for name in frame.columns if name not in own]
    read = [F.col(quoted(sent)).alias(name) for sent, name in own.items()]
    # What else its items read compiles, and nobody looks at what comes of it.
    nulls = [
        F.lit(None).cast(kinds[name]).alias(name)
        for name in select.reads
        if name not in own.values()
    ]
    kept = [quoted(name) for name in frame.columns if name not in own]
    made = [F.col(quoted(one.name)).alias(_name(number, f"={one.name}")) for one in select.by_spark]
    return frame.select(*read, *nulls, *rest).selectExpr(*select.sql, *kept).select(*made, *rest)


def _packed(
    rows: pa.RecordBatch, tables: pa.Array, plan: DecodePlan, schema: pa.Schema
) -> pa.RecordBatch:
    """What travels of rows: of each select's, at the top of its own columns; one row at least."""
    decoder = _decoder(plan)
    chosen = decoder.selects_of(tables, plan.keys)
    rows = with_unused(rows, decoder.rows)
    places = {number: np.flatnonzero(chosen == number) for number, _ in _of_spark(decoder)}
    longest = max(1, *map(len, places.values()))
    arrays = []
    for number, select in _of_spark(decoder):
        at = pa.array(places[number])
        for name in _needed(select):
            values = rows[name].take(at)
            nulls = pa.nulls(longest - len(values), values.type)
            arrays.append(pa.concat_arrays([values, nulls]))
    if not arrays:
        arrays = [pa.nulls(longest, _ROW.type)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _travelling(decoder: SelectingByKeyDecoder) -> pa.Schema:
    known = decoder.known
    fields = [
        known.field(name).with_name(_name(number, name)).remove_metadata()
        for number, select in _of_spark(decoder)
        for name in _needed(select)
    ]
    return pa.schema(fields or [_ROW])


def _of_spark(decoder: SelectingByKeyDecoder) -> list[_Numbered]:
    return [(number, one) for number, one in enumerate(decoder.selects) if one.by_spark]


def _needed(select: KeySelect) -> list[str]:
    return sorted({name for one in select.by_spark for name in one.needs})


def _made(decoder: SelectingByKeyDecoder) -> list[tuple[str, int, Output]]:
    """What comes back: the name of each column, whose it is, and which of it."""
    return [
        (_name(number, f"={one.name}"), number, one)
        for number, select in _of_spark(decoder)
        for one in select.by_spark
    ]


def _name(number: int, name: str) -> str:
    return f"#{number}_{name}"


def _decoder(plan: DecodePlan) -> SelectingByKeyDecoder:
    assert plan.by_key is not None  # noqa: S101 - `selects_keys_by_spark`
    return plan.by_key
