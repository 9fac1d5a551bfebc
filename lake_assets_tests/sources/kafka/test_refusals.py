"""What a user is told of a broker that does not let us in, each by a real one that does not."""

import time
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from lake_assets.errors import SourceError, SourceNotFoundError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.origins import Extent
from lake_assets.model.sources import KafkaSource
from lake_assets.settings.access import kafka_complaint
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.produce import produce
from lake_assets.simulator.script import Script
from lake_assets.sources.kafka.source import KafkaTopic
from lake_assets.sources.kafka.topics import check_broker, end_offsets, ensure_topic
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

pytestmark = pytest.mark.kafka

OPTIONS = "LAKE_ASSETS_KAFKA_OPTIONS"


def by(secured: Secured, listener: Listener, **login: str) -> Endpoints:
    return Endpoints(
        kafka=secured.address(listener),
        registry="",
        kafka_options=secured.options(listener, **login),
    )


@pytest.fixture
def topic(secured: Secured) -> str:
    """A topic that is there."""
    name = f"topic-{uuid4().hex[:8]}"
    ensure_topic(Endpoints(kafka=secured.plain, registry=""), name, partitions=1)
    return name


@pytest.mark.parametrize(
    "listener", [Listener.PASSWORD, Listener.SCRAM, Listener.MUTUAL, Listener.TOKEN]
)
def test_who_is_let_in_may_make_topics_and_ask_about_them(secured, listener):
    topic, mine = f"topic-{uuid4().hex[:8]}", by(secured, listener)
    ensure_topic(mine, topic, partitions=1)
    assert end_offsets(mine, topic) == {0: 0}


@pytest.mark.parametrize("name", SETS)
def test_the_options_that_are_documented_for_a_hosted_service_let_us_in(secured, topic, name):
    listener, options = as_documented(secured, name)
    assert kafka_complaint(options) is None
    mine = Endpoints(kafka=secured.address(listener), registry="", kafka_options=options)
    assert end_offsets(mine, topic) == {0: 0}


@pytest.mark.parametrize("listener", [Listener.PASSWORD, Listener.SCRAM])
@pytest.mark.parametrize("ask", [end_offsets, ensure_topic, lambda mine, _: check_broker(mine)])
def test_a_wrong_password_is_a_refused_login(secured, topic, listener, ask):
    wrong = by(secured, listener, password=f"{MARKER} wrong")
    with pytest.raises(SourceError, match=r"refuses the login \(SASL authentication err") as raised:
        ask(wrong, topic)
    assert f"Kafka at {wrong.kafka}: " in str(raised.value)
    assert f"Correct sasl.* in {OPTIONS}" in str(raised.value)
    assert MARKER not in str(raised.value)


@pytest.mark.parametrize(
    ("listener", "fact"),
    [
        (Listener.EXPIRED, "certificate has expired"),
        (Listener.MISNAMED, "Hostname mismatch, certificate is not valid for 'localhost'"),
    ],
)
@pytest.mark.parametrize("ask", [end_offsets, ensure_topic, lambda mine, _: check_broker(mine)])
def test_a_certificate_that_is_not_accepted_is_told_with_what_is_wrong(
    secured, topic, listener, fact, ask
):
    with pytest.raises(SourceError, match=r"its certificate is not accepted \(" + fact) as raised:
        ask(by(secured, listener), topic)
    assert f"ssl.ca.location in {OPTIONS}" in str(raised.value)


def test_an_authority_that_nobody_knows_is_not_accepted(secured, topic):
    mine = secured.options(Listener.PASSWORD)
    del mine["ssl.ca.location"]
    unknown = Endpoints(kafka=secured.address(Listener.PASSWORD), registry="", kafka_options=mine)
    with pytest.raises(SourceError, match=r"not accepted \(.*(self-signed|local issuer)"):
        end_offsets(unknown, topic)


def test_a_broker_that_wants_a_certificate_says_so(secured, topic):
    without = Endpoints(
        kafka=secured.address(Listener.MUTUAL),
        registry="",
        kafka_options=secured.options(Listener.EXPIRED),
    )
    with pytest.raises(SourceError, match=r"does not accept our certificate, or wants one"):
        end_offsets(without, topic)


def test_a_key_that_its_password_does_not_open_is_a_wrong_property(secured, topic):
    with pytest.raises(SourceError, match=r"a client property is wrong \(.*ssl.key.location"):
        end_offsets(by(secured, Listener.MUTUAL, password="wrong"), topic)  # noqa: S106 - it is


@pytest.mark.parametrize("ask", [end_offsets, ensure_topic])
def test_who_has_no_right_to_a_topic_is_told_which(secured, topic, ask):
    stranger = by(secured, Listener.SCRAM, user=STRANGER)
    with pytest.raises(SourceError, match=r"(?i)is refused \(.*authorization failed") as raised:
        ask(stranger, topic)
    assert f"topic '{topic}' at {stranger.kafka}: is refused" in str(raised.value)
    assert "Grant the user Describe and Read on the topic" in str(raised.value)


def test_who_may_not_make_topics_may_use_one_that_is_there(secured, topic):
    reader = by(secured, Listener.SCRAM, user=READER)
    ensure_topic(reader, topic)
    assert end_offsets(reader, topic) == {0: 0}
    with pytest.raises(SourceError, match=r"(?i)is refused \(.*authorization failed"):
        ensure_topic(reader, f"{topic}-other")


def test_brokers_that_make_no_topics_let_us_use_one_that_is_there(secured, topic):
    hosted = by(secured, Listener.HOSTED, user=EVENT_HUBS_USER, password=CONNECTION_STRING)
    ensure_topic(hosted, topic)
    with pytest.raises(SourceError, match=r"is refused \(.* not supported by broker") as raised:
        ensure_topic(hosted, f"{topic}-other")
    assert "with the tools of the service that runs the brokers" in str(raised.value)


def test_a_topic_that_is_not_there_is_told_apart(secured, topic):
    with pytest.raises(SourceNotFoundError, match="does not exist"):
        end_offsets(by(secured, Listener.SCRAM), f"{topic}-other")


def test_who_may_not_write_is_told_by_produce(secured, topic, services, monkeypatch):
    called = []
    place = "lake_assets.simulator.produce._Deliveries._on_delivery"
    monkeypatch.setattr(place, lambda _, *report: called.append(report))
    reader = Endpoints(
        kafka=secured.address(Listener.SCRAM),
        registry=services.registry,
        kafka_options=secured.options(Listener.SCRAM, user=READER),
    )
    events = GameEvents(reader, f"{topic}-value", ("chess",))
    with pytest.raises(SourceError, match=r"did not take .*Cluster authorization failed") as raised:
        produce(reader, topic, events, Script(events=10))
    assert "to produce, Write and Create" in str(raised.value)
    assert not called  # with a fatal error raised, that would be undefined in Python's C API


@pytest.mark.parametrize(
    ("listener", "login"),
    [
        # A consumer names a group and asks for its coordinator, which is refused.
        (Listener.PASSWORD, {"user": READER}),
        (Listener.HOSTED, {"user": EVENT_HUBS_USER, "password": CONNECTION_STRING}),
    ],
)
def test_a_topic_is_read_without_a_group_and_by_an_old_protocol(secured, topic, listener, login):
    producer = Producer({"bootstrap.servers": secured.plain})
    now_ms = time.time_ns() // 1_000_000  # a week ago, the broker would delete it: retention
    producer.produce(topic, b"x", partition=0, timestamp=now_ms)
    assert producer.flush(30) == 0
    mine = by(secured, listener, **login)
    source = KafkaTopic(KafkaSource(topic=topic), mine)
    several = KafkaTopic(KafkaSource(topics=[topic]), mine)
    assert (
        source.extent() == several.extent() == Extent(begins={(topic, 0): 0}, ends={(topic, 0): 1})
    )
    told = source.generation([topic])
    is_old = listener is Listener.HOSTED
    assert told.epochs.keys() == (set() if is_old else {(topic, 0)})
    assert (told.identities[topic] is None) == is_old
    assert source.times({(topic, 0): 0}) == {(topic, 0): 1000 * now_ms}
    assert source.times({(topic, 0): 1}) == {}
    (found,) = source.fetch(starts={(topic, 0): 0}, ends={(topic, 0): 2})
    assert found.rows["offset"].to_pylist() == [0]
