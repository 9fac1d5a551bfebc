"""Where a feed's rows come from, as a feed's YAML declares it.

Reading a source is for `sources`; how values are encoded is in `model.payload`.
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
