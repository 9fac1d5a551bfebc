"""Kafka as a streaming DataFrame. Questions about topics are `sources.kafka.topics`'."""

import json
from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import ByPlace
from lake_assets.model.sources import KafkaSource
from lake_assets.model.topic_pattern import pattern_of_names
from lake_assets.sources.kafka.java_properties import java_properties

_FETCH_WAIT_MS = 20
"""Milliseconds that a broker holds the answer to a fetch for which it has no rows. Kafka's client
fetches ahead at the end of a topic, and a broker answers a connection's questions in turn: with the
client's default of 500 each micro-batch waits half a second for the answer it does not want.
Nothing is fetched while no batch runs, so a short wait costs an idle stream nothing."""

_POLL_RECORDS = 5_000
"""Rows that Kafka's client hands over at once, in place of 500: with each such handful Spark asks
the broker where the partition begins and ends, which are two answers to wait for."""

_FETCH_BYTES = 4 * 1024 * 1024
"""Bytes a fetch may bring from a partition, in place of 1 MB. A task holds about two: the one that
it reads and the one on its way."""


def read_topic(
    session: SparkSession,
    declared: KafkaSource,
    endpoints: Endpoints,
    *,
    starts: ByPlace,
    max_rows: int,
    tasks: int,
) -> DataFrame:
    """Stream topics' rows with their headers, at most `max_rows` a micro-batch.

    Args:
        session: runs the query.
        declared: which ones.
        endpoints: its brokers.
        starts: by topic and partition, each that is there, the first offset to read.
        max_rows: of a micro-batch.
        tasks: that read at once, if there are rows enough.

    Returns:
        `key binary, value binary, headers string, topic string, partition int, offset bigint,
        kafka_timestamp timestamp`, and what else Spark has; headers as JSON.

    Raises:
        SettingsError: a certificate or a key among the client's properties cannot be read.
    """
    reader = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", endpoints.kafka)
        .option(*subscription(declared, {topic for topic, _ in starts}))
        .option("startingOffsets", json.dumps(_by_topic(starts)))
        .option("maxOffsetsPerTrigger", max_rows)
        .option("minPartitions", tasks)
        .option("includeHeaders", "true")
        # Rows that Kafka deleted before they were read must stop the stream, not vanish in silence.
        .option("failOnDataLoss", "true")
        # Rows of transactions that were aborted are no events.
        .option("kafka.isolation.level", "read_committed")
        .option("kafka.fetch.max.wait.ms", _FETCH_WAIT_MS)
        .option("kafka.max.poll.records", _POLL_RECORDS)
        .option("kafka.max.partition.fetch.bytes", _FETCH_BYTES)
    )
    for key, value in java_properties(endpoints.client_options()).items():
        reader = reader.option(f"kafka.{key}", value)
    return with_header_texts(reader.load())


def subscription(declared: KafkaSource, there: Collection[str]) -> tuple[str, str]:
    """The option that tells Spark which topics to read; it looks for new ones at each batch.

    Asked for topics by name it looks at those alone, and fails if one is not there. By a pattern it
    has the brokers name all that they have, and takes those in whose name it finds the pattern.
    """
    if declared.pattern is None and {*there} >= {*declared.names}:
        return "subscribe", ",".join(declared.names)
    pattern = declared.pattern or pattern_of_names(list(declared.names))
    return "subscribePattern", f"^(?:{pattern})$"


def _by_topic(starts: ByPlace) -> dict[str, dict[str, int]]:
    by_topic: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in starts.items():
        by_topic.setdefault(topic, {})[str(partition)] = offset
    return by_topic


def with_header_texts(rows: DataFrame) -> DataFrame:
    """Spark's Kafka columns with `headers` as JSON, values in base64, and `kafka_timestamp`.

    `sources.kafka.headers` reads the texts; rows without headers have null.
    """
    as_text = {"headers": F.to_json("headers"), "kafka_timestamp": F.col("timestamp")}
    return rows.withColumns(as_text)
