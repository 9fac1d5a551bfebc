import socket
from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.sources.kafka.topics import (
    client_config,
    end_offsets,
    ensure_topic,
    offset_bounds,
    settled,
)


@pytest.fixture
def topic() -> str:
    return f"topic-{uuid4().hex[:8]}"


@pytest.fixture
def nobody() -> Iterator[Endpoints]:
    """An address where nobody listens, for as long as the test runs."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield Endpoints(kafka=f"127.0.0.1:{bound.getsockname()[1]}", registry="")


@pytest.mark.kafka
def test_a_new_topic_is_empty(services, topic):
    ensure_topic(services, topic, partitions=3)
    assert offset_bounds(services, topic) == dict.fromkeys(range(3), (0, 0))


def answers(*given: int | str) -> Callable[[], str]:
    """A question that is answered with these in turn; errors by their code."""
    left = iter(given)

    def ask() -> str:
        answer = next(left)
        if isinstance(answer, int):
            raise KafkaException(KafkaError(answer))
        return answer

    return ask


def test_a_partition_that_finds_its_leader_is_asked_again():
    moving = KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.LEADER_NOT_AVAILABLE
    assert settled(answers(*moving, "found")) == "found"


def test_a_leader_that_is_not_found_in_time_is_the_brokers_error():
    with pytest.raises(KafkaException, match="NOT_LEADER_FOR_PARTITION"):
        settled(answers(KafkaError.NOT_LEADER_FOR_PARTITION, "late"), timeout_s=0)


def test_an_error_that_does_not_pass_is_not_waited_for():
    with pytest.raises(KafkaException, match="TOPIC_AUTHORIZATION_FAILED"):
        settled(answers(KafkaError.TOPIC_AUTHORIZATION_FAILED, "late"))


@pytest.mark.kafka
def test_a_topic_that_exists_is_left_as_it_is(services, topic):
    ensure_topic(services, topic, partitions=1)
    ensure_topic(services, topic, partitions=3)
    assert end_offsets(services, topic) == {0: 0}


@pytest.mark.kafka
def test_offsets_end_after_the_last_row(services, topic):
    ensure_topic(services, topic)
    producer = Producer(client_config(services))
    for partition in (0, 1, 1):
        producer.produce(topic, b"x", partition=partition)
    assert producer.flush(30) == 0
    assert end_offsets(services, topic) == {0: 1, 1: 2}
    assert offset_bounds(services, topic) == {0: (0, 1), 1: (0, 2)}


@pytest.mark.kafka
def test_asking_about_a_missing_topic_does_not_make_it(services, topic):
    for _ in range(2):
        with pytest.raises(SourceError, match=f"topic '{topic}': does not exist at") as caught:
            end_offsets(services, topic)
        assert services.kafka in str(caught.value)


@pytest.mark.kafka
def test_a_topic_the_broker_refuses_is_reported_in_its_words(services):
    with pytest.raises(SourceError, match="Topic name is invalid"):
        ensure_topic(services, "not a name!")


@pytest.mark.parametrize("ask", [end_offsets, offset_bounds, ensure_topic])
def test_a_broker_that_is_not_there_is_reported_in_time(nobody, ask, capfd):
    with pytest.raises(SourceError, match=f"{nobody.kafka}: cannot be reached within 0.5 s"):
        ask(nobody, "t", timeout_s=0.5)
    assert capfd.readouterr().err == ""


def test_a_wrong_client_property_is_named():
    endpoints = Endpoints(kafka="127.0.0.1:1", registry="", kafka_options={"no.such": "1"})
    with pytest.raises(SourceError, match=r"No such configuration property: \"no\.such\""):
        end_offsets(endpoints, "t")


def test_the_users_own_client_properties_are_used():
    endpoints = Endpoints(kafka="h:1", registry="", kafka_options={"security.protocol": "SSL"})
    assert client_config(endpoints)["security.protocol"] == "SSL"
