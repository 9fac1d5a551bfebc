"""Where a feed's rows come from and how their values are encoded, as a feed's YAML declares it.

Reading a source is for `sources`, decoding a payload for `decode`.
"""

from typing import Literal

from pydantic import Field

from lake_assets.model.base import Noun


class KafkaSource(Noun):
    """A topic, and where a new lake starts to read it; later it goes on where it was."""

    topic: str = Field(min_length=1)
    """Name of the topic."""

    starting_offsets: Literal["earliest", "latest"] | dict[int, int] = "earliest"
    """The first or last offsets, or one for each partition: `{0: 1200, 1: 1150}`."""


class Source(Noun):
    """Where a feed's rows come from."""

    kafka: KafkaSource
    """A Kafka topic; which broker has it is a setting."""


class ProtobufPayload(Noun):
    """Confluent-framed protobuf whose schemas are registered under `subject`."""

    subject: str = Field(min_length=1)
    """Name of the subject in the registry."""

    message: str | None = Field(default=None, min_length=1)
    """Full name of the one message type that is taken (`pkg.Event`); others are quarantined. Unset,
    rows of all message types are taken that have the route's column."""


class Payload(Noun):
    """How a feed's values are encoded."""

    protobuf: ProtobufPayload
    """Protobuf, with its schemas in a registry."""
