"""Where a feed's rows come from, as a feed's YAML declares it.

Reading a source is for `sources`; how values are encoded is in `model.payload`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeAlias

from pydantic import AfterValidator, Field, PrivateAttr, model_validator

from lake_assets.errors import FeedError
from lake_assets.model.base import Noun
from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.files_source import FilesSource
from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.model.origins import FEED, SCHEMA_ID, NamedSource, OriginColumns
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.model.tables import TableRef, files_of, landed_of
from lake_assets.model.topic_offsets import ensure_offsets
from lake_assets.model.topic_pattern import topic_name, topic_pattern
from lake_assets.model.unique_names import both, refuse_twins

OnGap: TypeAlias = Literal["stop", "record"]
"""What is done about rows that a source has no more: the feed stops, or they are passed over and
their offsets kept in the table `gaps`."""


class DeclaredSource(Protocol):
    """What a declaration of any kind of source tells; the kinds are told apart by their types.

    A feed may read several sources of the kind at once, such as topics, each by its name.
    """

    kind: ClassVar[str]
    """Of the source, in a word: `kafka`. Tables record positions under it."""

    system: ClassVar[str]
    """Who has the rows, in words: `Kafka`."""

    origin: ClassVar[OriginColumns]
    """Its columns that say where a row came from."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the sources within their kind, without colons; rows have them in `OriginColumns.name`.

        None where they are found by a pattern.
        """

    @property
    def is_one(self) -> bool:
        """Whether just one source is read, which is named."""

    @property
    def label(self) -> str:
        """What is read, in short: `game-events`."""

    @property
    def title(self) -> str:
        """What is read, in words: `topic 'game-events'`."""

    def title_of(self, name: str) -> str:
        """One of the sources, in words."""

    def reads(self, name: str) -> bool:
        """Whether a source of that name is read."""

    @property
    def on_gap(self) -> OnGap:
        """What is done about rows that the source had deleted before they were read."""


Start: TypeAlias = Literal["earliest", "latest"] | dict[int, int]
"""Where a topic is begun: at its first or last offsets, or at one for each partition."""

TopicName = Annotated[str, AfterValidator(topic_name)]


class KafkaSource(Noun):
    """A topic or several, and where a new lake starts to read; later it goes on where it was."""

    kind: ClassVar[str] = "kafka"
    system: ClassVar[str] = "Kafka"
    origin: ClassVar[OriginColumns] = OriginColumns(
        name="topic", partition="partition", offset="offset", time="kafka_timestamp"
    )

    topic: TopicName | None = None
    """Name of the topic; or else `topics` has several."""

    topics: tuple[TopicName, ...] | str | None = Field(default=None, min_length=1)
    """Topics that go into one table: their names (`[starts, ends]`), or a regular expression that
    whole names match (`"game-.*"`). Topics that come to match are read while the streams run, from
    their beginning; Kafka's internal ones never. Topics may be added and taken out: those that
    bronze has rows of go on where they were."""

    starting_offsets: Start | dict[str, Start] = "earliest"
    """Where a topic is begun: its first or last offsets, or one for each partition:
    `{0: 1200, 1: 1150}`. Of several topics, this by name: `{starts: latest, ends: {0: 1200}}`;
    `earliest` for those without. A topic that a pattern finds once the feed has begun is read from
    its beginning, whatever this says."""

    on_gap: OnGap = "stop"
    """What to do about rows that Kafka deleted before they were read (retention, DeleteRecords):
    `stop` the feed, or `record` their offsets in the table `gaps` and go on after them. Of several
    topics: whether all wait for one that is not there, or the others go on without it."""

    @model_validator(mode="after")
    def _names_topics_one_way(self) -> Self:
        if (self.topic is None) == (self.topics is None):
            given = [] if self.topic is None else ["topic", "topics"]
            message = f"{both(given)}\ngive either `topic` or `topics`"
            raise ValueError(message)
        if isinstance(self.topics, str):
            topic_pattern(self.topics)
        elif self.topics is not None:
            refuse_twins("topics", list(self.topics))
        return self

    @model_validator(mode="after")
    def _starts_are_of_its_topics(self) -> Self:
        starts = self.starting_offsets
        if not isinstance(starts, dict) or not starts:
            return self
        is_by_name = any(isinstance(key, str) for key in starts)
        if self.topic is None and not is_by_name:
            message = "starting_offsets: of several topics\nname the topic: `{starts: {0: 1200}}`"
            raise ValueError(message)
        if self.topic is not None and is_by_name:
            message = "starting_offsets: of one topic\nname no topic: `{0: 1200}`"
            raise ValueError(message)
        ensure_offsets(starts)
        strange = sorted(str(key) for key in starts if is_by_name and not self.reads(str(key)))
        if strange:
            message = f"starting_offsets: {strange[0]!r} is none of its topics"
            raise ValueError(message)
        return self

    @property
    def pattern(self) -> str | None:
        """The pattern by which topics are found; None if they are named."""
        return self.topics if isinstance(self.topics, str) else None

    @property
    def names(self) -> tuple[str, ...]:
        """The topics that are named."""
        if self.topic is not None:
            return (self.topic,)
        return () if self.topics is None or isinstance(self.topics, str) else self.topics

    @property
    def is_one(self) -> bool:
        """Whether it is one topic, by `topic`."""
        return self.topic is not None

    @property
    def label(self) -> str:
        """The names, or the pattern."""
        return self.pattern or ", ".join(self.names)

    @property
    def title(self) -> str:
        """Which they are, in words."""
        if self.pattern is not None:
            return f"topics that match {self.pattern!r}"
        return f"topic{'' if self.is_one else 's'} {', '.join(map(repr, self.names))}"

    def title_of(self, name: str) -> str:
        """One topic, in words."""
        return f"topic {name!r}"

    def reads(self, name: str) -> bool:
        """Whether a topic is one of these."""
        if self.pattern is not None:
            return topic_pattern(self.pattern).fullmatch(name) is not None
        return name in self.names

    def start_of(self, name: str) -> Start:
        """Where a topic is begun."""
        starts = self.starting_offsets
        if self.is_one or not isinstance(starts, Mapping):
            return starts  # type: ignore[return-value]  # the validator has seen which
        return starts.get(name, "earliest")  # type: ignore[call-overload]


class Source(Noun):
    """Where a feed's rows come from: `kafka`, `kinesis`, `files`, `delta` or `postgres`."""

    kafka: KafkaSource | None = None
    """A Kafka topic or several; which broker has them is a setting."""

    files: FilesSource | None = None
    """The files of a folder."""

    delta: DeltaSource | None = None
    """A Delta table, of which appended rows are read."""

    postgres: PostgresSource | None = None
    """A table of PostgreSQL, read on a schedule by a column that grows."""

    kinesis: KinesisSource | None = None
    """A Kinesis data stream."""

    _tables: OriginColumns | None = PrivateAttr(default=None)
    """How silver tables name where a row came from, if as rows of another kind of source."""

    @model_validator(mode="before")
    @classmethod
    def _has_fields(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a feed has there
        """A name with nothing below it is told what it lacks."""
        if isinstance(given, dict) and [*given.values()] == [None]:
            return {name: {} for name in given}
        return given

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        given = [kind for kind in type(self).model_fields if getattr(self, kind) is not None]
        if len(given) != 1:
            one = "give exactly one of `kafka`, `files`, `delta`, `postgres`, `kinesis`"
            message = f"{both(given)}\n{one}"
            raise ValueError(message)
        return self

    @property
    def declared(self) -> DeclaredSource:
        """What is declared of the source, whichever kind it is."""
        found = self.kafka or self.files or self.delta or self.postgres or self.kinesis
        if found is None:
            raise TypeError("a source is of one kind")
        return found

    @property
    def is_indexed(self) -> bool:
        """Whether the lake numbers its rows, in a table beside bronze."""
        return self.kafka is None

    def index_of(self, feed: str) -> TableRef | None:
        """The table by which rows of the feed have offsets; None if the source has them itself."""
        if not self.is_indexed:
            return None
        has_landed = self.postgres or self.kinesis
        return landed_of(feed) if has_landed else files_of(feed)

    @property
    def topics(self) -> KafkaSource:
        """The topics.

        Raises:
            FeedError: it is of another kind.
        """
        if self.kafka is None:
            fact = f"is of {self.declared.title}, not of topics"
            raise FeedError("source", fact, "Name a feed that reads from Kafka")
        return self.kafka

    @property
    def origin(self) -> OriginColumns:
        """Its columns that say where a row came from."""
        return replace(self.declared.origin, tables=self._tables)

    def in_tables_of(self, other: "Source") -> Self:
        """The same, of rows that go into the silver tables of a feed that reads another."""
        copied = self.model_copy()
        is_as_ours = other.kind == self.kind
        copied._tables = None if is_as_ours else other.declared.origin  # noqa: SLF001 - our own
        return copied

    @property
    def kind(self) -> str:
        """Of the sources that are read."""
        return self.declared.kind

    def named(self, name: str) -> NamedSource:
        """A source of the kind that is read, such as the feed reads or read before."""
        return NamedSource(kind=self.kind, name=name, origin=self.origin)


_KINDS: tuple[type[DeclaredSource], ...] = (
    KafkaSource,
    FilesSource,
    DeltaSource,
    PostgresSource,
    KinesisSource,
)

ORIGIN_NAMES = frozenset(
    name for kind in _KINDS for name in (*kind.origin.in_silver.names, f"_{SCHEMA_ID}", FEED)
)
"""Columns that silver adds to say where a row came from; no payload's may have such a name."""
