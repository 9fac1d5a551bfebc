import socket

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from lake_assets.services import kafka
from lake_assets.sources.kafka.topics import ensure_topic


@pytest.mark.kafka
def test_the_broker_answers(services):
    assert kafka.answers(int(services.kafka.split(":")[1]))


@pytest.mark.kafka
def test_a_topic_has_two_partitions_unless_asked_otherwise(services):
    admin = AdminClient({"bootstrap.servers": services.kafka})
    topic = "test-kafka-partitions"
    admin.create_topics([NewTopic(topic, -1, -1)])[topic].result()
    ensure_topic(services, topic)  # it is there; returns when the broker knows it
    assert len(admin.list_topics(topic).topics[topic].partitions) == 2


@pytest.mark.kafka
def test_a_mistyped_topic_is_not_created(services):
    consumer = Consumer(
        {"bootstrap.servers": services.kafka, "group.id": "a", "allow.auto.create.topics": True}
    )
    assert consumer.list_topics("test-kafka-mistyped").topics["test-kafka-mistyped"].error
    assert "test-kafka-mistyped" not in consumer.list_topics().topics
    consumer.close()


def test_a_closed_port_does_not_answer():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    assert not kafka.answers(port)
