"""The rows of bronze that are derived again, and the range of offsets that they are in."""

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.bronze.rows import FILE_SCHEMA
from lake_assets.delta.kafka_offsets import Offsets
from lake_assets.delta.multi_table_change import Range
from lake_assets.silver.reprocess import Bronze
from lake_assets.spark.read_tables import read_tables


def rows_of(session: SparkSession, bronze: DeltaTable) -> DataFrame:
    """All rows of bronze, with what says when they came."""
    return read_tables(session, [bronze], FILE_SCHEMA)


def within(session: SparkSession, rows: DataFrame, span: Range) -> Bronze:
    """The rows within a range; the range is a table, since there may be thousands of partitions."""
    ends, starts = span.ends or {}, span.starts
    bounds = [
        (topic, partition, 0 if starts is None else starts[topic, partition], end)
        for (topic, partition), end in ends.items()
        if starts is None or (topic, partition) in starts
    ]
    names = "topic string, partition int, `#first` long, `#end` long"
    within = session.createDataFrame(bounds, names)
    is_in = (F.col("offset") >= F.col("`#first`")) & (F.col("offset") < F.col("`#end`"))
    joined = rows.join(F.broadcast(within), ["topic", "partition"], "inner").where(is_in)
    return Bronze(rows=joined.select(*rows.columns), range=span)


def starts_of(rows: DataFrame) -> Offsets:
    """In each partition, the first offset of these rows: bronze has a partition's rows in order."""
    first = rows.groupBy("topic", "partition").agg(F.min("offset").alias("offset")).collect()
    return {(row["topic"], row["partition"]): row["offset"] for row in first}
