"""The columns of a feed's `select` that only Spark computes: from decoded rows there, and back.

A first Python stage decodes, computes what it can, and lets those columns travel that the other
expressions read; the rows wait beside the task (`spark.batch_spill`). A second one adds what Spark
made to its rows, and places them.
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
from lake_assets.silver.selecting_decoder import Computed, SelectingDecoder
from lake_assets.spark.batch_spill import receive, send
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.scan import Rows

_SPILL = "select"

_REASON, _DETAIL, _QUESTION = "#reason", "#detail", "#question"
"""Of a decoded row on its way: `Decoded`'s, the question as text."""

_MADE = "#made_"
"""Before the name of a selected column, which may be called as one of bronze is."""


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

    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return send(_pairs(read(batches), plan), _SPILL)

    schema = spark_schema(decoder.travelling)
    frame = bronze.frame.mapInArrow(decode, schema).selectExpr(*decoder.by_spark_sql)
    return frame.select(*(F.col(quoted(one.name)) for one in decoder.by_spark))


def quoted(name: str) -> str:
    """A column's name as an identifier of SQL."""
    return f"`{name.replace('`', '``')}`"


def place_selected(rows: Iterable[pa.RecordBatch], plan: DecodePlan) -> Iterator[pa.RecordBatch]:
    """Place the rows that were kept, with what Spark computed; as `demux_task.decode_task`."""
    decoder, schema = _decoder(plan), stage_schema(plan)
    names = [one.name for one in decoder.by_spark]
    for kept, made in receive(rows, _SPILL):
        by_spark = dict(zip(names, made.columns, strict=True))
        yield place(kept, decoder.finished(_computed(kept), by_spark), plan, schema)


def _decoder(plan: DecodePlan) -> SelectingDecoder:
    assert isinstance(plan.decoder, SelectingDecoder)  # noqa: S101 - `selects_by_spark`
    return plan.decoder


def _pairs(
    batches: Iterable[pa.RecordBatch], plan: DecodePlan
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Each piece as it is kept, and what of it travels."""
    decoder, own = _decoder(plan), ("value", *bronze_names(plan.origin))
    for computed in (one for batch in batches if batch.num_rows for one in decoder.computed(batch)):
        decoded = computed.decoded
        texts = pa.array([encoded(one) for one in decoded.questions], pa.string())
        kept = {
            **{name: computed.bronze[name] for name in own},
            **{f"{_MADE}{name}": array for name, array in computed.made.items()},
            _REASON: decoded.reason,
            _DETAIL: decoded.detail,
            _QUESTION: texts.take(decoded.question),
        }
        yield pa.RecordBatch.from_pydict(kept), computed.travelling


def _computed(kept: pa.RecordBatch) -> Computed:
    """What `_pairs` kept."""
    asked = kept[_QUESTION].dictionary_encode()
    names = [name for name in kept.schema.names if name.startswith(_MADE)]
    return Computed(
        bronze=kept,
        decoded=Decoded(
            columns=_NONE,
            reason=kept[_REASON],
            detail=kept[_DETAIL],
            question=asked.indices,
            questions=tuple(
                cast("Question", question_of(text)) for text in asked.dictionary.to_pylist()
            ),
        ),
        made={name.removeprefix(_MADE): kept[name] for name in names},
        travelling=_NONE,
    )


_NONE = pa.RecordBatch.from_arrays([], schema=pa.schema([]))
"""No columns: all that is selected is made."""
