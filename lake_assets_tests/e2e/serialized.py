"""Records as Confluent's serializers send them: each type under a subject that is named by it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from confluent_kafka.schema_registry import (
    SchemaRegistryClient,
    record_subject_name_strategy,
    topic_record_subject_name_strategy,
)
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from lake_assets_tests.formats.protobuf.given import message_of

STRATEGIES: dict[str, Callable[..., Any]] = {
    "record": record_subject_name_strategy,
    "topic and record": topic_record_subject_name_strategy,
}

_PROTOBUF = {"string": "string", "int": "int32", "double": "double"}
_JSON = {"string": "string", "int": "integer", "double": "number"}


@dataclass(frozen=True)
class Producer:
    """Registers a type with its first record, under a namespace that no other test has."""

    registry: str
    format: str
    topic: str
    namespace: str
    strategy: str

    def name(self, short: str) -> str:
        """Full name of a type."""
        return f"{self.namespace}.{short}"

    def subject(self, short: str) -> str:
        """Where its schema is registered."""
        name = self.name(short)
        return name if self.strategy == "record" else f"{self.topic}-{name}"

    @property
    def pattern(self) -> str:
        """Of all its subjects."""
        start = "" if self.strategy == "record" else f"{self.topic}-"
        return rf"{start}{self.namespace}\.\w+"

    def send(self, short: str, /, **values: tuple[str, Any]) -> bytes:
        """A record's bytes; each field has a type and a value."""
        with SchemaRegistryClient({"url": self.registry}) as client:
            return self._send(client, short, values)

    def _send(
        self, client: SchemaRegistryClient, short: str, values: dict[str, tuple[str, Any]]
    ) -> bytes:
        conf: dict[str, Any] = {"subject.name.strategy": STRATEGIES[self.strategy]}
        kinds = {field: kind for field, (kind, _) in values.items()}
        row: Any = {field: value for field, (_, value) in values.items()}
        serializer: Any
        if self.format == "avro":
            serializer = AvroSerializer(client, self._avro(short, kinds), conf=conf)
        elif self.format == "json":
            serializer = JSONSerializer(self._json(short, kinds), client, conf=conf)
        else:
            row = message_of(self._proto(short, kinds), self.name(short), **row)
            conf["use.deprecated.format"] = False
            serializer = ProtobufSerializer(type(row), client, conf)
        made = serializer(row, SerializationContext(self.topic, MessageField.VALUE))
        assert isinstance(made, bytes)
        return made

    def _avro(self, short: str, kinds: dict[str, str]) -> str:
        fields = [{"name": field, "type": kind} for field, kind in kinds.items()]
        own = {"type": "record", "name": short, "namespace": self.namespace, "fields": fields}
        return json.dumps(own)

    def _json(self, short: str, kinds: dict[str, str]) -> str:
        properties = {field: {"type": _JSON[kind]} for field, kind in kinds.items()}
        own = {"title": self.name(short), "type": "object", "properties": properties}
        return json.dumps(own)

    def _proto(self, short: str, kinds: dict[str, str]) -> str:
        fields = (
            f"{_PROTOBUF[kind]} {field} = {number};"
            for number, (field, kind) in enumerate(kinds.items(), 1)
        )
        return f"package {self.namespace}; message {short} {{ {' '.join(fields)} }}"
