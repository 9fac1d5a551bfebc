"""Keys as Confluent's serializers send them, with a registry that has more by and by."""

import json
from dataclasses import replace
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from lake_assets.formats.catalog import format_of
from lake_assets.formats.framed_keys import framed_keys
from lake_assets.formats.tombstones import with_tombstones
from lake_assets_tests.formats.avro.given import record
from lake_assets_tests.formats.json_schema import given as json_schema
from lake_assets_tests.formats.protobuf import given as protobuf
from lake_assets_tests.formats.test_framed_keys import SURROUNDINGS, feed_of, tombstones


def _serialized(client, topic, language, schema, row, field):
    """Bytes as Confluent's serializer of a language sends them; it registers the schema."""
    if language == "avro":
        made = AvroSerializer(client, json.dumps(schema))
    elif language == "json":
        made = JSONSerializer(json.dumps(schema), client)
    else:
        row = protobuf.message_of(schema, f"{topic}.{field}.Row", **row)
        made = ProtobufSerializer(type(row), client, {"use.deprecated.format": False})
    return made(row, SerializationContext(topic, field))


def _kinds(language, package, *names):
    """A schema with an integer `id`, and texts."""
    texts = [name for name in names if name != "id"]
    if language == "avro":
        return record(*((one, "string" if one in texts else "long") for one in names), name="Row")
    if language == "json":
        kinds = {one: {"type": "string" if one in texts else "integer"} for one in names}
        return {"title": "Row", **json_schema.document(**kinds)}
    fields = " ".join(
        f"{'string' if one in texts else 'int64'} {one} = {number};"
        for number, one in enumerate(names, 1)
    )
    # The keys' message is not the first one of its file.
    return f"package {package}; message First {{ bool a = 1; }} message Row {{ {fields} }}"


@pytest.mark.kafka
@pytest.mark.parametrize("language", ["avro", "json", "protobuf"])
def test_keys_of_confluents_serializers_are_read_as_their_schema_changes(services, language):
    topic = f"t{uuid4().hex[:8]}"
    surroundings = replace(SURROUNDINGS, registry=services.registry)
    feed = feed_of(f"{topic}-value", language)
    keys = framed_keys(feed, surroundings, lambda: 100.0)
    made = with_tombstones("shops", ("id", "shop"), format_of(feed, surroundings), keys)

    with SchemaRegistryClient({"url": services.registry}) as client:

        def sent(field, row, *names):
            schema = _kinds(language, f"{topic}.{field}", *names)
            return _serialized(client, topic, language, schema, row, field)

        value = sent(MessageField.VALUE, {"id": 1, "shop": "a", "city": "x"}, "id", "shop", "city")
        schemas = made.newest()

        def rows_of(*sent_keys):
            nonlocal schemas
            for _ in range(3):
                answer = made.plan(schemas, pa.schema([]), ()).decode(tombstones(*sent_keys))
                if not answer.questions:
                    break
                schemas = made.resolve(schemas, frozenset(answer.questions))
            assert not answer.questions
            told = answer.columns.to_pylist()
            details = answer.detail.to_pylist()
            return [
                detail or (row["id"], row["shop"])
                for row, detail in zip(told, details, strict=True)
            ]

        # Nobody has registered keys yet, and the id is of values.
        absent = f"its key does not tell id, shop: subject {topic}-key does not exist"
        assert rows_of(value) == [absent]
        schemas = made.for_next_batch(schemas, 1000.0)
        key = sent(MessageField.KEY, {"id": 7, "shop": "nörd"}, "id", "shop")
        assert rows_of(key) == [(7, "nörd")]
        changed = sent(MessageField.KEY, {"b": "", "shop": "b", "id": -8}, "b", "shop", "id")
        foreign = int.from_bytes(value[1:5], "big")
        unknown = b"\0" + (2**31 - 1).to_bytes(4, "big") + key[5:]
        assert rows_of(changed, key, unknown, value) == [
            (-8, "b"),
            (7, "nörd"),
            f"its key does not tell id, shop: schema id {2**31 - 1}",
            f"its key does not tell id, shop: schema id {foreign} is not of subject {topic}-key",
        ]
        lacking = sent(MessageField.KEY, {"shop": "b"}, "shop")
        assert rows_of(lacking, key) == ["its key does not tell id, shop", (7, "nörd")]
