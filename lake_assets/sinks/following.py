"""The contract of what a sink follows: batches of rows of tables, and the same rows once more."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

from lake_assets.formats.base import PayloadFormat
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.sinks import Sink
from lake_assets.model.tables import TableRef
from lake_assets.sinks.base import Target
from lake_assets.sinks.calls import RefusedRows, WaitingRows
from lake_assets.sinks.deliveries import Deliveries, Progress
from lake_assets.sinks.shape import Shaped
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Outside:
    """What a sink uses that is not in the lake."""

    endpoints: Endpoints | None = None
    """Of the lake, for sinks that are topics of its own brokers; None where these do not run."""

    format: PayloadFormat[Any] | None = None
    """Of the feed's values, for sinks of bronze, which decode them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Whose:
    """Whose rows are followed, and for whom."""

    lake: Store
    feed: Feed
    sink: Sink
    session: SparkSession
    """Of this sink alone."""

    deliveries: Deliveries
    target: Target
    format: PayloadFormat[Any] | None = None
    """Of the feed's values, where they are decoded on the way."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """A batch that can be sent."""

    number: int
    has_rows: bool
    """Whether there may be anything to send."""

    begin: Callable[[], None]
    """Notes it before its first call, so that after a kill it is the same; raises LakeError."""

    rows: Callable[[], Iterator[WaitingRows | RefusedRows]]
    """All of its rows, in pieces, in the same order each time; raises FeedError where an expression
    of the sink does not fit a table, LakeError where one cannot be read."""

    progress: Progress
    """How far the sink is once they are made."""

    end: Callable[[], None]
    """Forgets the note, once that is recorded."""

    @property
    def is_whole(self) -> bool:
        """Whether some table is done with it: of a change that is sent in shares, the last one."""
        return bool(self.progress.points)


class Following(Protocol):
    """Follows tables, for one sink."""

    def next(self) -> Ready | None:
        """What is to be sent next; None if the tables have nothing new.

        Raises:
            LakeError: a table cannot be read.
        """
        ...

    def rows_again(self, table: TableRef, asked: pa.Table) -> Iterator[Shaped]:
        """The rows of a table that were asked about and are wanted, as they are now, in pieces.

        There may be others among them; none if there is no such table. Of one that is gone from a
        view the values are a `DeletedRow`, if the sink deletes. `asked` is `IDENTITY`.

        Raises:
            FeedError: an expression of the sink does not fit the table.
            LakeError: the table cannot be read.
        """
        ...
