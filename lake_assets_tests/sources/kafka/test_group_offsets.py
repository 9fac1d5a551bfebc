import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.kafka.group_offsets import GroupOffsets
from lake_assets.sources.kafka.topics import client_config, ensure_topic
from lake_assets_tests.events import Topic
from lake_assets_tests.services.secured import READER, Listener

pytestmark = pytest.mark.kafka

NOWHERE = Endpoints(kafka="localhost:1", registry="")


def committed(endpoints, group):
    """As Kafka's own tools read it."""
    admin = AdminClient(client_config(endpoints))
    (answer,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]).values()
    return {(p.topic, p.partition): p.offset for p in answer.result().topic_partitions}


def test_a_group_has_the_offsets_that_were_committed_last(services):
    topic = Topic(services)
    ensure_topic(services, topic.name)
    offsets = GroupOffsets(services, f"group-{topic.name}")
    offsets.commit(topic.at({0: 3, 1: 0}))
    assert committed(services, f"group-{topic.name}") == topic.at({0: 3, 1: 0})
    offsets.commit(topic.at({0: 5, 1: 2}))
    offsets.commit(topic.at({0: 5, 1: 2}))
    assert committed(services, f"group-{topic.name}") == topic.at({0: 5, 1: 2})


def test_brokers_that_do_not_answer_are_told():
    with pytest.raises(
        SourceError, match=r"'g' at localhost:1: takes no offsets .* again by itself"
    ):
        GroupOffsets(NOWHERE, "g").commit({("t", 0): 3}, timeout_s=1.0)


def test_a_user_without_the_right_is_told_what_to_grant(secured):
    plain = Endpoints(kafka=secured.plain, registry="")
    ensure_topic(plain, "commits")
    endpoints = Endpoints(
        kafka=secured.address(Listener.PASSWORD),
        registry="",
        kafka_options=secured.options(Listener.PASSWORD, user=READER),
    )
    with pytest.raises(
        SourceError, match=r"Group authorization failed.* Grant the user Read on the group"
    ):
        GroupOffsets(endpoints, "lake_assets-games").commit({("commits", 0): 3})
