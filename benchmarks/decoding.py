"""How the other peers decode: the shortest way that Spark leaves a user without `spark-protobuf`.

An Arrow function around `ptars`, the decoder that our own pipeline has, told one message type: the
newest, which reads the older ones too. No bad row is isolated, no schema id looked up and nothing
judged, so it is less work than ours. What comes out has silver's columns and types.
"""

from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_schema

from lake_assets.formats.protobuf.decoders import handler_of


@dataclass(frozen=True, slots=True)
class Shape:
    """A message and the columns that it makes; picklable."""

    message: str
    descriptor_set: bytes
    columns: pa.Schema


def events(session: SparkSession, kafka: str, topic: str, shape: Shape) -> DataFrame:
    """A topic's events from its beginning, as a stream of rows with silver's columns.

    Args:
        session: classic or Spark Connect.
        kafka: `host:port` of the broker.
        topic: its name.
        shape: what its values are.
    """
    rows = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", kafka)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .load()
    )
    return rows.withColumn("event", _decoded(F.col("value"), shape)).select(
        "event.*",
        F.col("topic").alias("_topic"),
        F.col("partition").alias("_partition"),
        F.col("offset").alias("_offset"),
        F.col("timestamp").alias("_kafka_timestamp"),
        F.conv(F.hex(F.substring("value", 2, 4)), 16, 10).cast("bigint").alias("_schema_id"),
    )


def _decoded(values: Column, shape: Shape) -> Column:
    def decode_all(values: pa.Array) -> pa.Array:
        return decode(values, shape)

    kind = from_arrow_schema(shape.columns)
    function = arrow_udf(decode_all, kind)  # type: ignore[call-overload]
    # A filter on a decoded column would else be pushed below, with a second call of the function.
    decoded: Column = function.asNondeterministic()(values)
    return decoded


def decode(values: pa.Array, shape: Shape) -> pa.Array:
    """Framed messages to structs of their columns."""
    handler = handler_of(shape.message, shape.descriptor_set)
    batch = handler.array_to_record_batch(values)
    arrays = [batch[field.name].cast(field.type) for field in shape.columns]
    return pa.StructArray.from_arrays(arrays, fields=list(shape.columns))
