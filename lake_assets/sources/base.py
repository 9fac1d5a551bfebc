"""The contract between ingest and a source: how rows are read, and how far they are.

A source has a name and partitions, and in each its rows in an order that it does not change; an
offset is a row's number in it. A feed may read several at once, such as topics. What bronze's
commits record, what demux follows and what is shown as lag or origin are offsets by name and
partition, whatever a source calls them (`model.origins`). Nothing here knows a source;
`sources.catalog` alone maps what a feed declares to one.
Docs: `docs/decisions/0034-what-a-source-is.md`.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, Self, TypeAlias

import pyarrow as pa

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace, Extent, Place
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    # Commands that start no Spark ask sources, too, and its import takes seconds.
    from pyspark.sql import DataFrame, SparkSession

Parser: TypeAlias = Callable[[pa.Array], pa.Array]
"""Makes a column of the texts that stand for it on its way from Spark."""

ANSWER_S = 10.0
"""Seconds for an answer, if nothing else is said. A Kafka broker that starts needs 5; a person
waits no longer than this."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """Some rows of a source, as they are."""

    rows: pa.Table
    """All of `Source.columns`, none as text."""

    unreadable: Mapping[Place, Sequence[tuple[int, int]]] = field(default_factory=dict)
    """By name and partition, ranges of offsets whose rows the source has and cannot give, the end
    not in them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Generation:
    """By what it shows that a source is another, or has other rows, than when it was asked last."""

    identities: Mapping[str, int | None] = field(default_factory=dict)
    """By name of those that are there, a number that another source of the same name would not
    have; None if it gives none."""

    epochs: ByPlace = field(default_factory=dict)
    """By name and partition, a number that is another once the source may have replaced rows in it;
    without those that it gives none for now."""


class Source(Protocol):
    """One feed's source, or sources. Several threads ask it at once, and it keeps nothing open."""

    columns: ClassVar[pa.Schema]
    """What bronze keeps of a row, in this order: `value binary`, the columns of its origin with
    their types (`delta.origins.origin_schema`), and whatever else the source has."""

    parsers: ClassVar[Mapping[str, Parser]]
    """By name those of the columns that come from Spark as text."""

    @classmethod
    def of(cls, feed: Feed, endpoints: Endpoints, lake: Store) -> Self:
        """Made from what a feed declares of it; asks nobody.

        Args:
            feed: whose source it is.
            endpoints: of brokers, if it is theirs.
            lake: of the feed's tables: a source that nobody else numbers the rows of keeps there
                which offsets they have.
        """

    def extent(self, *, timeout_s: float = ANSWER_S) -> Extent:
        """Which offsets there are now. A source that answers can be read: it is what one waits for.

        Without those of several that need not be there: what a pattern may find, or, where gaps
        are recorded, any. One is there at least.

        Raises:
            SourceNotFoundError: it answers, and there is no such source yet.
            SourceError: it does not answer within `timeout_s`, or refuses us.
        """

    def has_unseen(self) -> bool:
        """Whether there is something that `extent` does not tell of yet, and a run would find.

        Raises:
            SourceError: as `extent`.
        """

    def generation(self, names: Collection[str], *, timeout_s: float = ANSWER_S) -> Generation:
        """Which sources of their names they are, and whether their rows are those of before.

        Args:
            names: of the sources; nothing is told of those that are not there.
            timeout_s: for an answer.

        Raises:
            SourceError: it does not answer within `timeout_s`, or refuses us.
        """

    def times(self, offsets: ByPlace, *, timeout_s: float = ANSWER_S) -> dict[Place, int]:
        """When the source got a row of each partition, in microseconds since 1970.

        Without those that it cannot tell.

        Args:
            offsets: of the rows, by name and partition; the source may not have them any more.
            timeout_s: for each answer: record batches may be large, and a line slow.

        Raises:
            SourceError: as `extent`.
        """

    def first_offsets(self, extent: Extent) -> dict[Place, int]:
        """Where the feed begins in sources that bronze has nothing of. Pure.

        Args:
            extent: theirs.

        Raises:
            StreamError: the source has no such offset as the feed declares.
        """

    def read(
        self, session: "SparkSession", *, starts: ByPlace, max_rows: int, tasks: int
    ) -> "DataFrame":
        """Stream the rows: `columns`, in this order, those of `parsers` as text.

        Each row comes once, none is passed over: what the source lost before it was read is an
        error that ends the stream. A partition that comes meanwhile is read from its first row, and
        of several sources one that comes, too; or the stream ends.

        Args:
            session: runs the query.
            starts: the first offset to read, of each partition that is there.
            max_rows: of a micro-batch, about.
            tasks: that read at once, if there are rows enough.

        Raises:
            SettingsError: what the source is to be reached with cannot be used.
        """

    def fetch(
        self, *, starts: ByPlace, ends: ByPlace, timeout_s: float = ANSWER_S
    ) -> Iterator[Fetched]:
        """The rows between offsets, some at a time, without Spark: for few, which Spark fails at.

        Args:
            starts: by name and partition, the first offset.
            ends: likewise, the offset after the last.
            timeout_s: for each answer.

        Raises:
            SourceError: it does not answer, refuses us, or has rows no more.
        """

    def batch_end(self, planned: str) -> dict[Place, int]:
        """The offset after a micro-batch's last row, by name and partition. Pure.

        Args:
            planned: what Spark noted in its checkpoint of where the batch ends: the line of JSON
                that the source's own reader gave it.
        """
