"""Demux of the same events as bodies of envelopes: what that costs beside demux of them alone."""

from dataclasses import dataclass, replace

from confluent_kafka.schema_registry import Schema

from benchmarks.ground import Ground
from benchmarks.ours import DEMUX, walk
from benchmarks.topic import delete_topic
from lake_assets.formats.confluent.registry_client import registry_client
from lake_assets.model.payload import Payload
from lake_assets.model.sources import KafkaSource
from lake_assets.simulator.games.events import GameEvents
from lake_assets.simulator.produce import produce
from lake_assets.simulator.script import Script
from lake_assets.simulator.workload import Chunk

WRAPPED = "demux-wrapped"

_ENVELOPE = 'syntax = "proto3"; message Envelope { string tenant = 1; bytes body = 2; }'

_TENANT = b"\x0a\x04acme"
_BODY = b"\x12"
_VARINT_BITS = 7


@dataclass(frozen=True, slots=True)
class _Envelopes:
    """A `simulator.workload.Workload`: another one's values, each in an envelope."""

    inner: GameEvents
    schema_id: int

    @property
    def keys(self) -> tuple[str, ...]:
        """As the other one."""
        return self.inner.keys

    def prepare(self) -> None:
        """As the other one."""
        self.inner.prepare()

    def chunk(
        self, count: int, versions: int, *, first: int, first_s: float, spacing_s: float
    ) -> Chunk:
        """The other one's, in envelopes."""
        made = self.inner.chunk(count, versions, first=first, first_s=first_s, spacing_s=spacing_s)
        head = b"\0" + self.schema_id.to_bytes(4, "big") + b"\0" + _TENANT + _BODY
        messages = [
            {**one, "value": head + _varint(len(one["value"])) + one["value"]}
            for one in made.messages
        ]
        return replace(made, messages=messages)


def in_envelopes(ground: Ground) -> dict[str, float]:
    """As many events of the same games, framed in the bytes of another framed message."""
    endpoints, feed = ground.endpoints, ground.feed
    topic, body = f"{feed.source.topics.names[0]}-wrapped", feed.payload.subject
    subject = f"{topic}-value"
    try:
        with registry_client(endpoints.registry, endpoints.registry_access) as client:
            schema_id = client.register_schema(subject, Schema(_ENVELOPE, "PROTOBUF"))
        events = GameEvents(endpoints, body, feed.keys)
        made = produce(
            endpoints, topic, _Envelopes(events, schema_id), Script(events=ground.events)
        )
        payload = Payload.model_validate(
            {
                "protobuf": {"subject": subject},
                "wrapped": {"column": "body", "protobuf": {"subject": body}},
            }
        )
        source = feed.source.model_copy(update={"kafka": KafkaSource(topic=topic)})
        own = feed.model_copy(update={"payload": payload, "source": source})
        return {WRAPPED: walk(replace(ground, feed=own, by_game=made.by_key))[DEMUX]}
    finally:
        delete_topic(endpoints, topic, subject)


def _varint(number: int) -> bytes:
    parts = []
    while number >> _VARINT_BITS:
        parts.append(number & 0x7F | 0x80)
        number >>= _VARINT_BITS
    return bytes([*parts, number])
