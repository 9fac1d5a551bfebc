"""The rows of bronze that are derived again, the range they are in, and whether it has them all."""

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.bronze.rows import FILE_SCHEMA
from lake_assets.delta.data_files import active_files
from lake_assets.delta.kafka_offsets import Offsets, offsets_of_rows
from lake_assets.delta.multi_table_change import Range
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.table_paths import folder_of
from lake_assets.errors import StreamError
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import bronze_of
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


def ensure_reaches(feed: Feed, bronze: DeltaTable, offsets: Offsets, before: str = "") -> None:
    """Make sure that bronze has the rows that are derived again: they leave silver.

    Args:
        feed: whose tables.
        bronze: what they are derived from.
        offsets: how far silver is.
        before: what to do before the streams can run.

    Raises:
        StreamError: it has not; it was put back from a copy and the streams have not run since.
    """
    topics = {topic for topic, _ in offsets}
    ends = {place: at for topic in topics for place, at in held_offsets(bronze, topic).items()}
    if offsets.keys() - ends.keys():
        # Bronze's commits do not tell of a partition; its rows do, if it has any.
        ends = {**offsets_of_rows(folder_of(bronze), active_files(bronze)), **ends}
    for (topic, partition), offset in offsets.items():
        end = ends.get((topic, partition), 0)
        if end < offset:
            raise StreamError(
                bronze_of(feed.feed).name,
                f"ends at {end} in partition {partition} of {topic!r}, and silver at {offset}",
                f"{before}Let the streams run first: they read from Kafka again what bronze lacks",
            )
