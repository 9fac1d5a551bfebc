from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from lake_assets.errors import RegistryError, SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.games.schema import message_class
from lake_assets.simulator.produce import Progress, produce
from lake_assets.simulator.script import Script
from lake_assets.sources.kafka.topics import client_config, end_offsets

GAMES = ("rummy", "poker")


@pytest.fixture
def topic() -> str:
    return f"sim-{uuid4().hex[:8]}"


def _event(value: bytes) -> Any:
    return message_class(0).FromString(value[6:])


def _read(endpoints: Endpoints, topic: str) -> list[bytes]:
    ends = end_offsets(endpoints, topic)
    consumer = Consumer({**client_config(endpoints), "group.id": topic})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in ends])
    values: list[bytes] = []
    try:
        while left := sum(ends.values()) - len(values):
            values += [m.value() or b"" for m in consumer.consume(left, timeout=10)]
    finally:
        consumer.close()
    return values


@pytest.mark.kafka
def test_confluents_own_deserializer_reads_what_was_produced(services, topic):
    made = GameEvents(services, f"{topic}-value", GAMES, seed=4)
    report = produce(services, topic, made, Script(events=300, versions=3))
    context = SerializationContext(topic, MessageField.VALUE)
    # Without the registry: the client asks it for serialized descriptors, which Apicurio has not.
    deserialize = ProtobufDeserializer(message_class(2), {"use.deprecated.format": False})
    events = [deserialize(value, context) for value in _read(services, topic)]
    by_game = {game: sum(e.game_name == game for e in events) for game in GAMES}
    assert (report.events, report.by_key) == (300, by_game)
    assert sum(e.HasField("col_custom_2") for e in events) == report.by_version[2] > 0


@pytest.mark.kafka
def test_the_same_seed_produces_the_same_events_but_for_their_times(services, topic):
    contents = []
    for name in (f"{topic}-a", f"{topic}-b"):
        made = GameEvents(services, f"{topic}-value", GAMES, seed=9)
        produce(services, name, made, Script(events=50, versions=1))
        events = [_event(value) for value in _read(services, name)]
        contents.append(sorted((e.game_name, e.gamer_id, e.device_id) for e in events))
    assert contents[0] == contents[1]


@pytest.mark.kafka
def test_a_rate_is_kept(services, topic):
    script = Script(events=100, versions=1, rate=200)
    report = produce(services, topic, GameEvents(services, f"{topic}-value", GAMES), script)
    assert report.seconds >= 0.45
    assert sum(end_offsets(services, topic).values()) == 100


@pytest.mark.kafka
def test_an_endless_run_ends_when_told_to_and_delivers_what_it_sent(services, topic):
    seen: list[Progress] = []
    report = produce(
        services,
        topic,
        GameEvents(services, f"{topic}-value", GAMES),
        Script(rate=1000),
        on_progress=seen.append,
        stop=lambda: len(seen) == 3,
    )
    assert [progress.sent for progress in seen] == [100, 200, 300]
    assert report.events == sum(end_offsets(services, topic).values()) == 300


@pytest.mark.kafka
def test_values_have_the_size_that_measurements_assume(services, topic):
    script = Script(events=3000, versions=3)
    report = produce(services, topic, GameEvents(services, f"{topic}-value", GAMES), script)
    assert report.value_bytes / report.events == pytest.approx(110, rel=0.05)


@pytest.mark.kafka
def test_a_registry_that_is_down_ends_the_run(services, topic):
    endpoints = Endpoints(kafka=services.kafka, registry="http://127.0.0.1:1")
    with pytest.raises(RegistryError, match="cannot be reached"):
        produce(endpoints, topic, GameEvents(endpoints, f"{topic}-value", GAMES), Script(events=1))


@pytest.mark.kafka
def test_messages_that_the_broker_refuses_end_the_run(services, topic):
    refusing = Endpoints(
        kafka=services.kafka,
        registry=services.registry,
        kafka_options={"message.max.bytes": "1000"},
    )
    wide = Script(events=1000, versions=40)
    with pytest.raises(SourceError, match=f"topic '{topic}' at .* did not take"):
        produce(refusing, topic, GameEvents(refusing, f"{topic}-value", GAMES), wide)
