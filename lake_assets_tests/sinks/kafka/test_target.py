import asyncio
import json

import pyarrow as pa
import pytest
from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pydantic import SecretStr

from lake_assets.errors import SinkError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.kafka_sink import KafkaSink
from lake_assets.runtime.protoc import compile_files
from lake_assets.sinks.base import IDENTITY, Call, DeletedRow
from lake_assets.sinks.kafka.cluster import look_at_topic
from lake_assets.sinks.kafka.message_types import new_file
from lake_assets.sinks.kafka.message_values import message_class
from lake_assets.sinks.kafka.target import KafkaTarget
from lake_assets.sources.kafka.topics import client_config, end_offsets
from lake_assets_tests.events import Topic
from lake_assets_tests.services.hosted_options import as_documented
from lake_assets_tests.services.secured import PASSWORD, READER, STRANGER, Listener

pytestmark = pytest.mark.kafka


def _look_up(name):
    return SecretStr({"PASSWORD": PASSWORD, "WRONG": "another-password"}[name])


def _sink(topic, **declared):
    return KafkaSink.model_validate({"topic": topic.name, **declared})


def _call(target, rows):
    place = {"table": "silver/x", "feed": "f", "source": "t", "partition": 0, "ordinal": 0}
    identity = [{**place, "offset": one, "source_time": 0} for one in range(len(rows))]
    table = pa.Table.from_pylist(rows)
    columns = {name: table[name].combine_chunks() for name in table.column_names}
    return Call(
        number=1,
        key="key-1",
        rows=pa.Table.from_pylist(identity, schema=IDENTITY),
        body=target.body_of(
            [
                DeletedRow(one) if type(row) is DeletedRow else one
                for one, row in zip(target.rows_of(columns), rows, strict=True)
            ]
        ),
    )


def _deliver(sink, endpoints, rows, **options):
    async def run():
        async with KafkaTarget(sink, endpoints, _look_up, **options) as target:
            return await target.deliver(_call(target, rows))

    return asyncio.run(run())


def _messages(topic):
    """All that the topic has, in the order of partition and offset."""
    count = sum(end_offsets(topic.endpoints, topic.name).values())
    own = {"group.id": topic.name, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**client_config(topic.endpoints), **own})
    try:
        consumer.subscribe([topic.name])
        found = []
        while len(found) < count:
            found += consumer.consume(count - len(found), timeout=30)
        return sorted(found, key=lambda one: (one.partition(), one.offset()))
    finally:
        consumer.close()


def test_each_row_is_a_message_with_its_key_and_its_origin(services):
    topic = Topic(services)
    topic.create(partitions=3)
    rows = [{"player": "ann", "coins": 1}, {"player": None, "coins": 2}, {"player": "ann"}]
    (outcome,) = _deliver(_sink(topic, key="player"), services, rows)
    assert (outcome.is_delivered, outcome.call.rows.num_rows, outcome.tries) == (True, 3, 1)
    found = {message.headers()[0][1].decode(): message for message in _messages(topic)}
    assert sorted(found) == [
        f"silver/x/f/t/0/{offset}/0@1970-01-01T00:00:00.000000+00:00" for offset in range(3)
    ]
    first, second, third = (found[name] for name in sorted(found))
    assert {message.headers()[0][0] for message in found.values()} == {"lake_assets.origin"}
    assert (first.key(), second.key(), third.key()) == (b"ann", None, b"ann")
    assert first.partition() == third.partition()
    assert json.loads(first.value()) == {"player": "ann", "coins": 1}


def test_a_message_that_is_too_large_takes_no_other_with_it(services):
    topic = Topic(services)
    topic.create(**{"max.message.bytes": "20000"})
    # Of all letters, so that it is not small once it is compressed; alone, the others fit.
    noise = "".join(chr(33 + one * one * 7919 % 90_001 % 12_000) for one in range(30_000))
    rows = [{"text": f"{number}" + noise[:300]} for number in range(100)]
    rows[7] = {"text": noise}
    outcomes = _deliver(_sink(topic), services, rows)
    refused = [one for one in outcomes if not one.is_delivered]
    assert [one.call.rows["offset"].to_pylist() for one in refused] == [[7]]
    assert "MSG_SIZE_TOO_LARGE" in refused[0].reason
    assert len(refused[0].request) <= 16_384
    assert sum(one.call.rows.num_rows for one in outcomes) == 100
    assert len(_messages(topic)) == 99


def test_a_topic_that_is_not_there_is_not_made(services):
    topic = Topic(services)
    with pytest.raises(SinkError, match="does not exist"):
        _deliver(_sink(topic), services, [{"a": 1}])
    with pytest.raises(SinkError, match="does not exist"):
        look_at_topic(_sink(topic), services)


def test_a_compacted_topic_needs_a_key(services):
    topic = Topic(services)
    topic.create(**{"cleanup.policy": "compact"})
    with pytest.raises(SinkError, match="takes no message without a key"):
        look_at_topic(_sink(topic), services)
    told = look_at_topic(_sink(topic, key="player"), services)
    assert told == (
        "one broker has the only copy of what is delivered",
        "it is compacted: of each key the last message stays",
    )
    outcomes = _deliver(_sink(topic, key="player"), services, [{"player": "a"}, {"player": None}])
    assert sorted((one.is_delivered, one.call.rows["offset"].to_pylist()) for one in outcomes) == [
        (False, [1]),
        (True, [0]),
    ]


def test_another_cluster_is_used_with_its_login(secured):
    topic = Topic(Endpoints(kafka=secured.plain, registry=""))
    topic.create()
    options = secured.options(Listener.SCRAM)
    options.pop("sasl.password")
    other = {
        "bootstrap_servers": secured.address(Listener.SCRAM),
        "options": options,
        "secrets": {"sasl.password": {"env": "PASSWORD"}},
    }
    (outcome,) = _deliver(_sink(topic, **other), None, [{"a": 1}])
    assert outcome.is_delivered
    wrong = {**other, "secrets": {"sasl.password": {"env": "WRONG"}}}
    with pytest.raises(SinkError, match="refuses the login") as told:
        _deliver(_sink(topic, **wrong), None, [{"a": 1}])
    assert "another-password" not in str(told.value)
    for name in (STRANGER, READER):
        login = {**other, "options": {**options, "sasl.username": name}}
        with pytest.raises(SinkError, match=r"is refused .*[Aa]uthoriz|does not exist"):
            _deliver(_sink(topic, **login), None, [{"a": 1}])
    assert len(_messages(topic)) == 1


def test_hosted_brokers_are_produced_to_with_what_they_take(secured):
    topic = Topic(Endpoints(kafka=secured.plain, registry=""))
    topic.create()
    _, options = as_documented(secured, "event hubs")
    options["security.protocol"] = "SASL_PLAINTEXT"
    own = Endpoints(kafka=secured.address(Listener.HOSTED), registry="", kafka_options=options)
    assert look_at_topic(_sink(topic), own) == ("its settings cannot be read (DescribeConfigs)",)
    # The topic takes a megabyte as well; the user's own bound is kept.
    rows = [{"a": "x" * 1_000_000}, {"a": "y"}]
    outcomes = _deliver(_sink(topic), own, rows)
    refused, taken = sorted(outcomes, key=lambda one: one.is_delivered)
    assert (refused.is_delivered, taken.is_delivered) == (False, True)
    assert "MSG_SIZE_TOO_LARGE" in refused.reason
    assert [message.value() for message in _messages(topic)] == [b'{"a":"y"}']


def test_the_lakes_own_brokers_need_to_run():
    sink = KafkaSink.model_validate({"topic": "sessions"})
    with pytest.raises(SinkError, match="has no brokers"):
        KafkaTarget(sink, None, _look_up)


def test_brokers_that_are_away_stop_the_sink():
    sink = KafkaSink.model_validate({"topic": "s", "bootstrap_servers": "127.0.0.1:9"})
    with pytest.raises(SinkError, match="cannot be reached"):
        look_at_topic(sink, Endpoints(kafka="127.0.0.1:9", registry=""), timeout_s=1)


def test_a_row_that_is_gone_is_a_message_without_a_value(services):
    topic = Topic(services)
    topic.create()
    rows = [{"player": "ann", "coins": 1}, DeletedRow(player="bob", coins=2)]
    (outcome,) = _deliver(_sink(topic, key="player"), services, rows)
    assert outcome.is_delivered
    found = [(message.key(), message.value()) for message in _messages(topic)]
    assert found == [(b"ann", b'{"player":"ann","coins":1}'), (b"bob", None)]


def test_protobuf_values_are_what_confluents_deserializer_reads(services):
    topic = Topic(services)
    topic.create()
    sink = _sink(topic, key="player", value="protobuf")
    rows = [{"player": "ann", "coins": 1}, DeletedRow(player="bob", coins=2)]
    away = Endpoints(kafka=services.kafka, registry="http://127.0.0.1:9")
    with pytest.raises(SinkError, match="cannot be reached"):
        _deliver(sink, away, rows)
    (outcome,) = _deliver(sink, services, rows)
    assert outcome.is_delivered
    more = [
        {"player": "eve", "coins": None, "hits": [1, 2]},
        {"player": "cyd", "coins": 5, "hits": [None]},
    ]
    outcomes = _deliver(sink, services, more)
    refused = next(one for one in outcomes if not one.is_delivered)
    assert refused.reason == "is no message: hits has null among its values"
    assert '"player":"cyd"' in refused.request
    with SchemaRegistryClient({"url": services.registry}) as client:
        newest = client.get_latest_version(topic.subject)
        text = compile_files("subject", {"feed.proto": newest.schema.schema_str})
        made = message_class(text, f"lake_assets.{new_file(topic.name).message_type[0].name}")
        read = ProtobufDeserializer(made, {"use.deprecated.format": False}, client)
        context = SerializationContext(topic.name, MessageField.VALUE)
        found = [(one.key(), read(one.value(), context)) for one in _messages(topic)]
    assert [key for key, _ in found] == [b"ann", b"bob", b"eve"]
    ann, bob, eve = (message for _, message in found)
    assert (ann.player, ann.coins, bob) == ("ann", 1, None)
    assert (eve.player, eve.HasField("coins"), list(eve.hits)) == ("eve", False, [1, 2])


def test_a_message_of_a_type_that_is_too_large_is_shown_as_json(services):
    topic = Topic(services)
    topic.create(**{"max.message.bytes": "2000"})
    noise = "".join(chr(33 + one * one * 7919 % 90_001 % 12_000) for one in range(5_000))
    (outcome,) = _deliver(_sink(topic, value="protobuf"), services, [{"text": "see " + noise}])
    assert not outcome.is_delivered
    assert '"text": "see ' in outcome.request
