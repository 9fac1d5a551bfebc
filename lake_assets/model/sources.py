"""Where a feed's rows come from, as a feed's YAML declares it.

Reading a source is for `sources`; how values are encoded is in `model.payload`.
"""

from typing import ClassVar, Literal, Protocol, TypeAlias

from pydantic import Field

from lake_assets.model.base import Noun
from lake_assets.model.origins import SCHEMA_ID, NamedSource, OriginColumns

OnGap: TypeAlias = Literal["stop", "record"]
"""What is done about rows that a source has no more: the feed stops, or they are passed over and
their offsets kept in the table `gaps`."""


class DeclaredSource(Protocol):
    """What a declaration of any kind of source tells; the kinds are told apart by their types."""

    kind: ClassVar[str]
    """Of the source, in a word: `kafka`. Tables record positions under it."""

    system: ClassVar[str]
    """Who has the rows, in words: `Kafka`."""

    origin: ClassVar[OriginColumns]
    """Its columns that say where a row came from."""

    @property
    def name(self) -> str:
        """Of the source within its kind, without a colon; rows have it in `OriginColumns.name`."""

    @property
    def title(self) -> str:
        """Which one it is, in words: `topic 'game-events'`."""

    @property
    def on_gap(self) -> OnGap:
        """What is done about rows that the source had deleted before they were read."""


class KafkaSource(Noun):
    """A topic, and where a new lake starts to read it; later it goes on where it was."""

    kind: ClassVar[str] = "kafka"
    system: ClassVar[str] = "Kafka"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="topic", partition="partition", offset="offset", time="kafka_timestamp"
    )

    topic: str = Field(min_length=1)
    """Name of the topic."""

    starting_offsets: Literal["earliest", "latest"] | dict[int, int] = "earliest"
    """The first or last offsets, or one for each partition: `{0: 1200, 1: 1150}`."""

    on_gap: OnGap = "stop"
    """What to do about rows that Kafka deleted before they were read (retention, DeleteRecords):
    `stop` the feed, or `record` their offsets in the table `gaps` and go on after them."""

    @property
    def name(self) -> str:
        """The topic."""
        return self.topic

    @property
    def title(self) -> str:
        """Which one it is, in words."""
        return f"topic {self.topic!r}"


class Source(Noun):
    """Where a feed's rows come from."""

    kafka: KafkaSource
    """A Kafka topic; which broker has it is a setting."""

    @property
    def declared(self) -> DeclaredSource:
        """What is declared of the source, whichever kind it is."""
        return self.kafka

    @property
    def origin(self) -> OriginColumns:
        """Its columns that say where a row came from."""
        return self.declared.origin

    @property
    def name(self) -> str:
        """Of the source within its kind."""
        return self.declared.name

    def named(self, name: str | None = None) -> NamedSource:
        """The source, or another one of its kind, such as the feed had before."""
        declared = self.declared
        return NamedSource(kind=declared.kind, name=name or declared.name, origin=declared.origin)


_KINDS: tuple[type[DeclaredSource], ...] = (KafkaSource,)

ORIGIN_NAMES = frozenset(
    name for kind in _KINDS for name in (*kind.origin.in_silver.names, f"_{SCHEMA_ID}")
)
"""Columns that silver adds to say where a row came from; no payload's may have such a name."""
