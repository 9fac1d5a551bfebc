"""The columns of a feed's `select` that only Spark computes: from decoded rows there, and back.

A first Python stage decodes and lets those columns travel that the expressions read; the rows wait
beside the task (`spark.batch_spill`). A second one adds what Spark made to its rows.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from lake_assets.formats.base import Decoded
from lake_assets.silver.demux_task import DecodePlan
from lake_assets.silver.kept_rows import decoded_of, kept, travelling, travelling_columns
from lake_assets.silver.selecting_decoder import SelectingDecoder
from lake_assets.spark.batch_spill import receive, send
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.scan import Rows

_SPILL = "select"


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
    known = pa.schema([*decoder.inner.columns, *decoder.inner.unused])
    schema = travelling_columns(known, decoder.by_spark_reads)

    def decode(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return send(_pairs(read(batches), plan, schema), _SPILL)

    frame = bronze.frame.mapInArrow(decode, spark_schema(schema)).selectExpr(*decoder.by_spark_sql)
    return frame.select(*(F.col(quoted(one.name)) for one in decoder.by_spark))


def quoted(name: str) -> str:
    """A column's name as an identifier of SQL."""
    return f"`{name.replace('`', '``')}`"


def selected_rows(
    rows: Iterable[pa.RecordBatch], plan: DecodePlan
) -> Iterator[tuple[pa.RecordBatch, Decoded]]:
    """The rows that were kept, with what Spark computed; as `demux_task.decoded_rows`."""
    decoder = _decoder(plan)
    names = [one.name for one in decoder.by_spark]
    for batch, made in receive(rows, _SPILL):
        decoded = decoded_of(batch, decoder.inner.columns.names)
        computed = dict(zip(names, made.columns, strict=True))
        yield batch, decoder.selected(decoded, computed)


def _decoder(plan: DecodePlan) -> SelectingDecoder:
    assert isinstance(plan.decoder, SelectingDecoder)  # noqa: S101 - `selects_by_spark`
    return plan.decoder


def _pairs(
    batches: Iterable[pa.RecordBatch], plan: DecodePlan, schema: pa.Schema
) -> Iterator[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """Each batch as it is kept, and what of it travels."""
    inner = _decoder(plan).inner
    for batch in batches:
        if batch.num_rows:
            decoded = inner.decode(batch)
            yield kept(batch, decoded, plan.read_names), travelling(decoded.columns, schema)
