"""The columns of a feed's `select` that only Spark computes: from decoded rows there, and back.

A first Python stage decodes and lets those columns travel that the expressions read; the rows wait
beside the task (`spark.batch_spill`). A second one adds what Spark made to its rows, and places
them.
"""

from collections.abc import Iterable, Iterator
from typing import cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake_assets.formats.base import Decoded, Question
from lake_assets.silver.demux_task import DecodePlan, place, stage_schema
from lake_assets.silver.questions import decoded as question_of
from lake_assets.silver.questions import encoded
from lake_assets.silver.rows import bronze_names
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.spark.batch_spill import receive, send
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.scan import Rows

_SPILL = "select"

_REASON, _DETAIL, _QUESTION = "#reason", "#detail", "#question"
"""Of a decoded row on its way: `Decoded`'s, the question as text."""

_ROW = pa.field("#row", pa.bool_())
"""Travels where no expression reads a column."""


def selects_by_spark(plan: DecodePlan) -> bool:
    """Whether Spark computes columns before rows can be placed."""
    return isinstance(plan.decoder, SelectingDecoder) and bool(plan.decoder.by_spark)


def select_by_spark(bronze: Rows, plan: DecodePlan) -> DataFrame:
    """What Spark computes of bronze's rows, for `place_selected` in the same tasks.

    Args:
        bronze: `value binary` and the columns `bronze_names`.
        plan: what decodes them; `selects_by_spark` holds.
    """
    decoder, read = _decoder(plan), bronze.read
    schema = _travelling(decoder)

    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return send(_pairs(read(batches), plan, schema), _SPILL)

    frame = bronze.frame.mapInArrow(decode, spark_schema(schema)).selectExpr(*decoder.by_spark_sql)
    return frame.select(*(F.col(quoted(one.name)) for one in decoder.by_spark))


def quoted(name: str) -> str:
    """A column's name as an identifier of SQL."""
    return f"`{name.replace('`', '``')}`"


def place_selected(rows: Iterable[pa.RecordBatch], plan: DecodePlan) -> Iterator[pa.RecordBatch]:
    """Place the rows that were kept, with what Spark computed; as `demux_task.decode_task`."""
    decoder, schema = _decoder(plan), stage_schema(plan)
    names = [one.name for one in decoder.by_spark]
    for kept, made in receive(rows, _SPILL):
        decoded = _decoded(kept, decoder.inner.columns.names)
        computed = dict(zip(names, made.columns, strict=True))
        yield place(kept, decoder.selected(decoded, computed), plan, schema)


def _decoder(plan: DecodePlan) -> SelectingDecoder:
    assert isinstance(plan.decoder, SelectingDecoder)  # noqa: S101 - `selects_by_spark`
    return plan.decoder


def _travelling(decoder: SelectingDecoder) -> pa.Schema:
    """Decoded columns that the expressions read, at least one column."""
    read = [column for column in _known(decoder) if column.name in decoder.by_spark_reads]
    return pa.schema([column.remove_metadata() for column in read] or [_ROW])


def _known(decoder: SelectingDecoder) -> pa.Schema:
    return pa.schema([*decoder.inner.columns, *decoder.inner.unused])


def _pairs(
    batches: Iterable[pa.RecordBatch], plan: DecodePlan, schema: pa.Schema
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Each batch as it is kept, and what of it travels."""
    inner = _decoder(plan).inner
    own = ("value", *bronze_names(plan.origin))
    for batch in batches:
        if not batch.num_rows:
            continue
        decoded = inner.decode(batch)
        texts = pa.array([encoded(one) for one in decoded.questions], pa.string())
        kept = pa.RecordBatch.from_arrays(
            [
                *(batch[name] for name in own),
                *decoded.columns.columns,
                decoded.reason,
                decoded.detail,
                texts.take(decoded.question),
            ],
            names=[
                *own,
                *(f"{_COLUMN}{name}" for name in decoded.columns.schema.names),
                _REASON,
                _DETAIL,
                _QUESTION,
            ],
        )
        have = decoded.columns
        travelling = [
            have[one.name] if one.name in have.schema.names else pa.nulls(len(batch), one.type)
            for one in schema
        ]
        yield kept, pa.RecordBatch.from_arrays(travelling, schema=schema)


_COLUMN = "#decoded_"
"""Before the name of a decoded column, which may be called as one of bronze is."""


def _decoded(kept: pa.RecordBatch, names: Iterable[str]) -> Decoded:
    """What `_pairs` kept of a decoder's answer."""
    names = list(names)
    asked = kept[_QUESTION].dictionary_encode()
    return Decoded(
        columns=pa.RecordBatch.from_arrays(
            [kept[f"{_COLUMN}{name}"] for name in names], names=names
        ),
        reason=kept[_REASON],
        detail=kept[_DETAIL],
        question=asked.indices,
        questions=tuple(
            cast("Question", question_of(text)) for text in asked.dictionary.to_pylist()
        ),
    )
