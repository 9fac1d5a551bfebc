"""The columns of a feed's `select` that only Spark computes: from decoded rows there, and back.

A first Python stage decodes, computes what it can, and lets those columns travel that the other
expressions read; the rows wait beside the task (`spark.batch_spill`). A second one adds what Spark
made to its rows.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake_assets.formats.base import Decoded
from lake_assets.silver.demux_task import DecodePlan
from lake_assets.silver.kept_rows import decoded_of, kept
from lake_assets.silver.selecting_decoder import Computed, SelectingDecoder
from lake_assets.spark.batch_spill import receive, send
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.scan import Rows

_SPILL = "select"

_NONE = pa.RecordBatch.from_arrays([], schema=pa.schema([]))


def selects_by_spark(plan: DecodePlan) -> bool:
    """Whether Spark computes columns before rows can be placed."""
    return isinstance(plan.decoder, SelectingDecoder) and bool(plan.decoder.by_spark)


def select_by_spark(bronze: Rows, plan: DecodePlan) -> DataFrame:
    """What Spark computes of bronze's rows, for `selected_rows` in the same tasks.

    Args:
        bronze: the columns `DecodePlan.read_names`.
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


def selected_rows(
    rows: Iterable[pa.RecordBatch], plan: DecodePlan
) -> Iterator[tuple[pa.RecordBatch, Decoded]]:
    """The rows that were kept, with what Spark computed; as `selecting_decoder.decoded_rows`."""
    decoder = _decoder(plan)
    of_spark = [one.name for one in decoder.by_spark]
    of_tasks = [one.name for one in decoder.outputs if not one.is_by_spark]
    for batch, columns in receive(rows, _SPILL):
        decoded = decoded_of(batch, of_tasks)
        made = dict(zip(of_tasks, decoded.columns.columns, strict=True))
        computed = Computed(bronze=batch, decoded=decoded, made=made, travelling=_NONE)
        by_spark = dict(zip(of_spark, columns.columns, strict=True))
        yield batch, decoder.finished(computed, by_spark)


def _decoder(plan: DecodePlan) -> SelectingDecoder:
    decoder = plan.task_decoder
    assert isinstance(decoder, SelectingDecoder)  # noqa: S101 - `selects_by_spark`
    return decoder


def _pairs(
    batches: Iterable[pa.RecordBatch], plan: DecodePlan
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Each piece as it is kept, and what of it travels."""
    decoder = _decoder(plan)
    for computed in (one for batch in batches if batch.num_rows for one in decoder.computed(batch)):
        made = pa.RecordBatch.from_arrays(list(computed.made.values()), names=list(computed.made))
        decoded = replace(computed.decoded, columns=made)
        yield kept(computed.bronze, decoded, plan.read_names), computed.travelling
