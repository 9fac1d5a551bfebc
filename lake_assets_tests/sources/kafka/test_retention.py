import pytest
from confluent_kafka import Producer

from lake_assets.errors import SourceNotFoundError
from lake_assets.sources.kafka.retention import (
    TopicRetention,
    offsets_at,
    retention_in,
    topic_retention,
)
from lake_assets.sources.kafka.topics import client_config
from lake_assets_tests.events import Topic

pytestmark = pytest.mark.kafka


@pytest.fixture
def make(services):
    def topic(**config):
        made = Topic(services)
        made.create(**config)
        return made.name

    return topic


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({"retention.ms": "5000"}, TopicRetention(seconds=5.0)),
        (
            {"retention.ms": "-1", "retention.bytes": "1000"},
            TopicRetention(size_bytes=1_000),
        ),
        ({"cleanup.policy": "compact", "retention.ms": "5000"}, TopicRetention()),
        (
            {"cleanup.policy": "compact,delete", "retention.ms": "5000"},
            TopicRetention(seconds=5.0),
        ),
    ],
)
def test_a_topic_s_settings_tell_what_is_deleted(services, make, config, kept):
    name = make(**config)
    assert topic_retention(services, [name]) == {name: kept}


def test_offsets_are_found_by_the_time_of_rows(services, make):
    name = make(**{"retention.ms": "-1"})
    producer = Producer(client_config(services))
    for at in (1_000, 2_000, 3_000):
        producer.produce(name, b"x", timestamp=at * 1000)
    assert producer.flush(30) == 0
    found = [offsets_at(services, {(name, 0): at})[name, 0] for at in (500, 1_000, 1_001, 3_001)]
    assert found == [0, 0, 1, None]


def test_a_topic_that_is_not_there_is_told(services):
    with pytest.raises(SourceNotFoundError):
        topic_retention(services, ["nowhere-to-be-found"])


def test_rows_of_all_times_count_where_they_are_kept_longer_than_there_is_time(make, services):
    topic = make(**{"retention.ms": str(2**63 - 1)})
    producer = Producer(client_config(services))
    producer.produce(topic, b"v")
    assert producer.flush(30) == 0
    kept = topic_retention(services, [topic])[topic].seconds
    assert kept is not None
    assert offsets_at(services, {(topic, 0): 1_763_700_000 - kept}) == {(topic, 0): 0}


@pytest.mark.parametrize(
    ("config", "kept"),
    [
        ({}, TopicRetention()),
        ({"cleanup.policy": None, "retention.ms": "5000"}, TopicRetention(seconds=5.0)),
        ({"retention.ms": None, "retention.bytes": "1000"}, TopicRetention(size_bytes=1_000)),
        ({"retention.ms": "-1", "retention.bytes": "infinite"}, TopicRetention()),
    ],
)
def test_settings_that_a_broker_leaves_out_say_nothing(config, kept):
    assert retention_in(config) == kept
