"""Framed game events for tests of any room, and a topic with its subject to put them into."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from uuid import uuid4

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.payload import Payload
from lake_assets.model.protobuf_payload import ProtobufPayload
from lake_assets.model.sources import KafkaSource, Source
from lake_assets.simulator.games.schema import custom_column, message_class, proto_text
from lake_assets.sources.kafka.topics import client_config, ensure_topic
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.sample import GAMES

AT = datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=UTC)
"""When all events happened that do not say otherwise."""


def framed(
    schema_id: int,
    key: str = "uno",
    *,
    gamer: str = "ann",
    device: str = "d1",
    version: int = 0,
    at: datetime | None = AT,
) -> bytes:
    """An event as Confluent's clients frame it."""
    message = message_class(version)(game_name=key, gamer_id=gamer, device_id=device)
    if at is not None:
        message.event_timestamp.FromDatetime(at)  # type: ignore[attr-defined]
    for added in range(1, version + 1):
        setattr(message, custom_column(added), f"custom {added}")
    return b"\0" + schema_id.to_bytes(4, "big") + b"\0" + message.SerializeToString()


@dataclass(frozen=True)
class Topic:
    """A topic and a subject of a real broker and registry that no other test uses."""

    endpoints: Endpoints
    name: str = field(default_factory=lambda: f"topic-{uuid4().hex[:8]}")

    @property
    def subject(self) -> str:
        return f"{self.name}-value"

    def feed(self, **changes: object) -> Feed:
        """The sample feed, reading from here."""
        own = {
            "source": Source(kafka=KafkaSource(topic=self.name)),
            "payload": Payload(protobuf=ProtobufPayload(subject=self.subject)),
        }
        return GAMES.model_copy(update={**own, **changes})

    def at(self, offsets: dict[int, int]) -> dict[tuple[str, int], int]:
        """Offsets by partition, as those of this topic."""
        return {(self.name, partition): offset for partition, offset in offsets.items()}

    def source(self, **changes: object) -> Source:
        """The feed's source, otherwise declared."""
        return Source(kafka=KafkaSource(topic=self.name, **changes))

    def create(self, partitions: int = 1, **config: str) -> None:
        """Create the topic, with settings such as `retention.ms`, and wait until it can be used."""
        admin = AdminClient(client_config(self.endpoints))
        config = {"retention.ms": "-1", **config}  # rows of tests may be of any time
        (answer,) = admin.create_topics([NewTopic(self.name, partitions, config=config)]).values()
        answer.result()  # of the controller: brokers hear of it a little later
        ensure_topic(self.endpoints, self.name)

    def delete(self) -> None:
        """Delete the topic, and wait until it is gone."""
        admin = AdminClient(client_config(self.endpoints))
        (answer,) = admin.delete_topics([self.name], operation_timeout=30).values()
        answer.result()
        wait_for(lambda: not self._exists(admin), "the topic's end", within_s=120)

    def _exists(self, admin: AdminClient) -> bool:
        return self.name in admin.list_topics(timeout=30).topics

    def delete_rows(self, partition: int, *, before: int) -> None:
        """As retention does: the rows of a partition below an offset."""
        admin = AdminClient(client_config(self.endpoints))
        (answer,) = admin.delete_records([TopicPartition(self.name, partition, before)]).values()
        answer.result()

    def register(self, version: int) -> int:
        """Register a version of the event; its schema id.

        The comment makes the text this subject's own: equal texts would share one id.
        """
        schema = Schema(f"{proto_text(version)}// {self.subject}\n", "PROTOBUF")
        with SchemaRegistryClient({"url": self.endpoints.registry}) as client:
            return int(client.register_schema(self.subject, schema))

    def register_text(self, body: str, *, under: str = "") -> int:
        """Register a .proto text without its `syntax` line; its schema id.

        Under another subject the text has the id that it will have under the topic's own.
        """
        schema = Schema(f'syntax = "proto3"; {body} // {self.subject}\n', "PROTOBUF")
        with SchemaRegistryClient({"url": self.endpoints.registry}) as client:
            return int(client.register_schema(under or self.subject, schema))

    def produce(
        self,
        *values: bytes | None,
        at: datetime | None = None,
        headers: Sequence[list[tuple[str, bytes]]] = (),
    ) -> list[tuple[int, int]]:
        """Create the topic if need be and write rows to it; partition and offset of each.

        They have a time of the producer's, if one is given, and else the client's; and each its
        headers, if there are any.
        """
        timestamp = 0 if at is None else round(at.timestamp() * 1000)
        ensure_topic(self.endpoints, self.name)
        producer = Producer(client_config(self.endpoints))
        places: dict[int, tuple[int, int]] = {}

        for number, value in enumerate(values):

            def note(error: object, message: object, number: int = number) -> None:
                assert error is None, error
                places[number] = (message.partition(), message.offset())  # type: ignore[attr-defined]

            producer.produce(
                self.name,
                value,
                key=str(number),
                timestamp=timestamp,
                on_delivery=note,
                headers=headers[number] if headers else None,
            )
        assert producer.flush(60) == 0
        return [places[number] for number in range(len(values))]
