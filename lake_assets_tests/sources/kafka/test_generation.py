import json
from datetime import UTC, datetime, timedelta

import pytest
from confluent_kafka import Consumer, Producer

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sources import KafkaSource
from lake_assets.sources.kafka.source import KafkaTopic
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.events import Topic

pytestmark = pytest.mark.kafka

AT = datetime(2026, 11, 21, 1, 2, 3, 4000, UTC)


@pytest.fixture
def topic(services):
    return Topic(services)


def fill(topic, rows, partition=0, **options):
    """Rows a millisecond apart from each other."""
    producer = Producer({**client_config(topic.endpoints), **options})
    if options:
        producer.init_transactions(30)
        producer.begin_transaction()
    for number in range(rows):
        at = AT + timedelta(milliseconds=number)
        producer.produce(topic.name, b"x", partition=partition, timestamp=_ms(at))
    if options:
        producer.commit_transaction(30)
    assert producer.flush(30) == 0


def _ms(at):
    return round(at.timestamp() * 1000)


def micros(at):
    return _ms(at) * 1000


def source(topic, endpoints=None):
    return KafkaTopic(KafkaSource(topic=topic.name), endpoints or topic.endpoints)


def generation(topic):
    return source(topic).generation([topic.name])


def test_each_partition_is_asked_for_its_own_row(topic):
    topic.create(2)
    fill(topic, 100)
    fill(topic, 3, partition=1)
    times = source(topic).times(topic.at({0: 42, 1: 2}))
    assert times == topic.at({0: micros(AT) + 42_000, 1: micros(AT) + 2_000})
    assert source(topic).times({}) == {}


def test_the_time_of_a_row_that_a_broker_stamps_is_the_broker_s(topic):
    topic.create(2, **{"message.timestamp.type": "LogAppendTime"})
    before = datetime.now(UTC)
    fill(topic, 1)
    (row,) = next(
        iter(source(topic).fetch(starts=topic.at({0: 0}), ends=topic.at({0: 1})))
    ).rows.to_pylist()
    assert source(topic).times(topic.at({0: 0})) == topic.at({0: micros(row["kafka_timestamp"])})
    assert row["kafka_timestamp"] >= before - timedelta(milliseconds=1)


def test_rows_that_are_gone_or_not_there_yet_have_no_time(topic):
    topic.create(2)
    fill(topic, 10)
    fill(topic, 10, partition=1)
    topic.delete_rows(0, before=5)
    assert source(topic).times(topic.at({0: 4, 1: 3})).keys() == {(topic.name, 1)}
    assert source(topic).times(topic.at({0: 10, 1: 11})) == {}  # the end, and behind it


def test_many_partitions_are_asked_for_their_rows_together(topic, monkeypatch):
    told = []

    class Telling(Consumer):
        def __init__(self, config):
            super().__init__({**config, "statistics.interval.ms": 5, "stats_cb": told.append})

        def close(self):
            """All may be answered before the first statistics: wait for some that count it all."""
            told.clear()
            wait_for(lambda: self.poll(0.1) or told, "told statistics", within_s=120)
            super().close()

    monkeypatch.setattr("lake_assets.sources.kafka.generation.Consumer", Telling)
    topic.create(50)
    for partition in range(50):
        fill(topic, 20, partition=partition)
    assert source(topic).times(topic.at(dict.fromkeys(range(50), 9))).keys() == {
        (topic.name, p) for p in range(50)
    }
    brokers = [broker for each in told for broker in json.loads(each)["brokers"].values()]
    assert 0 < max(broker["req"].get("Fetch", 0) for broker in brokers) < 10


LIMIT = datetime(1900, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("year", [1, 1019, 1899])
def test_a_time_that_spark_moves_is_not_told(topic, year):
    """Bronze has another one for it, and the topic is the same."""
    topic.create(2, **{"message.timestamp.before.max.ms": str(2**63 - 1)})
    producer = Producer(client_config(topic.endpoints))
    for partition, at in enumerate((datetime(year, 12, 31, tzinfo=UTC), LIMIT)):
        producer.produce(topic.name, b"x", partition=partition, timestamp=_ms(at))
    assert producer.flush(30) == 0
    assert source(topic).times(topic.at({0: 0, 1: 0})) == topic.at({1: micros(LIMIT)})


def test_what_stands_for_a_transaction_is_no_row(topic):
    topic.create(1)
    fill(topic, 2, **{"transactional.id": topic.name})
    wait_for(lambda: source(topic).extent().ends == topic.at({0: 3}), "the marker", within_s=120)
    fill(topic, 1)
    assert source(topic).times(topic.at({0: 1})) == topic.at({0: micros(AT) + 1_000})
    assert source(topic).times(topic.at({0: 2})) == {}
    assert source(topic).times(topic.at({0: 3})) == topic.at({0: micros(AT)})


def test_a_broker_that_is_away_is_an_error():
    away = Endpoints(kafka="127.0.0.1:1", registry="")
    with pytest.raises(SourceError):
        KafkaTopic(KafkaSource(topic="t"), away).times({("t", 0): 1}, timeout_s=2)


def test_a_topic_has_an_identity_and_each_partition_an_epoch(topic):
    topic.create(3)
    fill(topic, 5)
    places = topic.at({0: 0, 1: 0, 2: 0}).keys()
    wait_for(lambda: generation(topic).epochs.keys() == places, "three leaders", within_s=120)
    first = generation(topic)
    assert first.identities[topic.name]
    fill(topic, 5)
    assert generation(topic) == first


def test_a_topic_that_is_created_again_is_another(topic):
    topic.create(2)
    first = generation(topic)
    topic.delete()
    assert generation(topic).identities == {}
    topic.create(2)
    assert generation(topic).identities[topic.name] not in {None, *first.identities.values()}
