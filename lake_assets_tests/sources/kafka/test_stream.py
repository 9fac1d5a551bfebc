"""Spark's Kafka client with the same properties as ours, against a broker that asks for them."""

from uuid import uuid4

import pytest
from confluent_kafka import Producer
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.kafka.stream import read_topic, subscription
from lake_assets.sources.kafka.topics import client_config, ensure_topic
from lake_assets_tests.services.hosted_options import SETS, as_documented
from lake_assets_tests.services.secured import (
    CONNECTION_STRING,
    EVENT_HUBS_USER,
    MARKER,
    READER,
    STRANGER,
    Listener,
    Secured,
)

pytestmark = [pytest.mark.kafka, pytest.mark.spark]


@pytest.fixture(scope="module")
def topic(secured: Secured) -> str:
    """A topic with three rows."""
    name, plain = f"topic-{uuid4().hex[:8]}", Endpoints(kafka=secured.plain, registry="")
    ensure_topic(plain, name, partitions=1)
    producer = Producer(client_config(plain))
    for number in range(3):
        producer.produce(name, str(number).encode())
    assert producer.flush(30) == 0
    return name


def read(
    spark: SparkSession, secured: Secured, topic: str, listener: Listener, **login: str
) -> DataFrame:
    """The topic as a stream."""
    return read_with(spark, secured, topic, listener, secured.options(listener, **login))


def read_with(
    spark: SparkSession, secured: Secured, topic: str, listener: Listener, options: dict[str, str]
) -> DataFrame:
    """The topic as a stream, by options of the client."""
    address = secured.address(listener)
    endpoints = Endpoints(kafka=address, registry="", kafka_options=options)
    declared = KafkaSource(topic=topic)
    return read_topic(spark, declared, endpoints, starts={(topic, 0): 0}, max_rows=100, tasks=1)


def taken(
    spark: SparkSession, secured: Secured, topic: str, listener: Listener, **login: str
) -> list[bytes]:
    """Values of the topic, as a stream that ends takes them."""
    return values_of(read(spark, secured, topic, listener, **login))


def values_of(rows: DataFrame) -> list[bytes]:
    """What a stream that ends takes."""
    found: list[bytes] = []
    query = (
        rows.writeStream.foreachBatch(
            lambda batch, _: found.extend(bytes(row.value) for row in batch.collect())
        )
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(100)
    finally:
        query.stop()
    return found


EVENT_HUBS = {"user": EVENT_HUBS_USER, "password": CONNECTION_STRING}


@pytest.mark.parametrize(
    ("listener", "login"),
    [
        (Listener.PASSWORD, {}),
        (Listener.HOSTED, EVENT_HUBS),
        (Listener.SCRAM, {}),
        (Listener.SCRAM, {"user": READER}),  # neither groups, nor settings, nor the cluster
        (Listener.TOKEN, {}),
        (Listener.MUTUAL, {}),
    ],
)
def test_spark_reads_with_the_properties_of_librdkafka(spark, secured, topic, listener, login):
    assert taken(spark, secured, topic, listener, **login) == [b"0", b"1", b"2"]


@pytest.mark.parametrize("name", SETS)
def test_spark_reads_by_the_options_that_are_documented_for_a_hosted_service(
    spark, secured, topic, name
):
    listener, options = as_documented(secured, name)
    assert values_of(read_with(spark, secured, topic, listener, options)) == [b"0", b"1", b"2"]


@pytest.mark.parametrize(
    ("listener", "login", "fact"),
    [
        (Listener.PASSWORD, {"password": f"{MARKER} wrong"}, "Invalid username or password"),
        (Listener.SCRAM, {"password": f"{MARKER} wrong"}, "invalid credentials"),
        (Listener.SCRAM, {"user": STRANGER}, "TopicAuthorizationException"),
        # Why its handshake fails Spark does not tell; the streams ask our own client first.
        (Listener.EXPIRED, {}, "SslAuthenticationException: SSL handshake failed"),
        (Listener.MISNAMED, {}, "SslAuthenticationException: SSL handshake failed"),
    ],
)
def test_spark_tells_what_it_is_refused_for_and_no_secret(
    spark, secured, topic, listener, login, fact
):
    with pytest.raises(StreamingQueryException, match=f"(?i){fact}") as raised:
        taken(spark, secured, topic, listener, **login)
    assert MARKER not in str(raised.value)


@pytest.mark.parametrize("listener", [Listener.PASSWORD, Listener.TOKEN, Listener.MUTUAL])
def test_no_plan_of_spark_shows_a_secret(spark, secured, topic, listener, capfd):
    read(spark, secured, topic, listener).explain(extended=True)
    shown = capfd.readouterr().out
    assert "kafka.security.protocol=" in shown
    assert MARKER not in shown
    assert "PRIVATE KEY" not in shown


@pytest.mark.parametrize(
    ("topics", "there", "option"),
    [
        (["a", "b"], ["a", "b"], ("subscribe", "a,b")),
        (["a", "b.c"], ["a"], ("subscribePattern", r"^(?:a|b\.c)$")),
        ("a|b", ["a"], ("subscribePattern", "^(?:a|b)$")),
    ],
)
def test_spark_is_told_topics_by_name_or_by_a_pattern_of_whole_names(topics, there, option):
    assert subscription(KafkaSource(topics=topics), there) == option
