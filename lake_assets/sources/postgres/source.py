"""The rows that come to a table of PostgreSQL, as a source; `Source` says what each does."""

from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.one_source import TABLE
from lake_assets.model.origins import ByPlace, Extent
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.settings.secrets import secrets_of
from lake_assets.sources.base import ANSWER_S
from lake_assets.sources.landing.source import LandedSource
from lake_assets.sources.landing.table import handle_of, position_in
from lake_assets.sources.postgres.landed import COLUMNS
from lake_assets.sources.postgres.position import Position
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class TableRows(LandedSource):
    """The rows that come to a feed's table, each time that they change."""

    columns: ClassVar[pa.Schema] = COLUMNS
    time: ClassVar[str] = "read_at"

    def __init__(self, feed: str, source: PostgresSource, lake: Store) -> None:
        """Read a table, by what of it landed in the lake."""
        super().__init__(feed, TABLE, lake)
        self._source = source

    @classmethod
    def of(cls, feed: Feed, endpoints: Endpoints, lake: Store) -> Self:  # noqa: ARG003 - it names its server
        """Made from what a feed declares; asks nobody."""
        declared = feed.source.postgres
        if declared is None:
            raise TypeError("a feed of a table of PostgreSQL declares it")
        return cls(feed.feed, declared, lake)

    def extent(self, *, timeout_s: float = ANSWER_S) -> Extent:
        """The offsets of rows that landed; raises as `sources.base.Source.extent`."""
        # What asks the database is imported late: other feeds' commands need none of it.
        from lake_assets.sources.postgres.database import reading  # noqa: PLC0415
        from lake_assets.sources.postgres.same_table import ensure_same  # noqa: PLC0415

        handle = handle_of(self._lake, self._feed)
        known = position_in(self._lake, handle, self._feed, Position.of)
        with reading(self._source, within_s=timeout_s) as database:
            table = database.table()
            ensure_same(self._source, known, table, database.snapshot(table))
        return self._landed_extent()

    def has_unseen(self) -> bool:
        """Whether rows would land; as `sources.base.Source.has_unseen`."""
        from lake_assets.sources.postgres.unseen import has_new_rows  # noqa: PLC0415 - as above

        return has_new_rows(self._source, self._lake, self._feed)

    def read(
        self, session: "SparkSession", *, starts: ByPlace, max_rows: int, tasks: int
    ) -> "DataFrame":
        """The table's rows; as `sources.base.Source.read`."""
        from lake_assets.sources.landing.stream import read_landed  # noqa: PLC0415 - Spark
        from lake_assets.sources.postgres.stream import reading_of  # noqa: PLC0415 - Spark

        reading = reading_of(
            self._source,
            self._lake,
            self._feed,
            secrets_of((self._source.user, self._source.password)),
            start=starts.get(self._place, 0),
            max_rows=max_rows,
            tasks=tasks,
        )
        return read_landed(session, self._source.kind, reading)
