"""The rows that come to a table of PostgreSQL, as a source; `Source` says what each does."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa

from lake_assets.errors import SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace, Extent, Place
from lake_assets.model.postgres_source import TABLE, PostgresSource
from lake_assets.sources.base import ANSWER_S, Fetched, Generation, Parser
from lake_assets.sources.files.index import table_id
from lake_assets.sources.postgres.landed import (
    COLUMNS,
    end_of,
    files_with,
    handle_of,
    landed_rows,
    position_in,
)
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACE: Place = (TABLE, 0)

_PAGE = 20_000
"""Rows that are fetched at once."""


class TableRows:
    """The rows that come to a feed's table, each time that they change."""

    columns: ClassVar[pa.Schema] = COLUMNS
    parsers: ClassVar[Mapping[str, Parser]] = {}

    def __init__(self, feed: str, source: PostgresSource, lake: Store) -> None:
        """Read a table, by what of it landed in the lake."""
        self._feed, self._source, self._lake = feed, source, lake

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
        known = None if handle is None else position_in(self._lake, handle, self._feed)
        with reading(self._source, within_s=timeout_s) as database:
            table = database.table()
            ensure_same(self._source, known, table, database.snapshot(table))
        end = 0 if handle is None else end_of(handle, self._feed)
        return Extent(begins={_PLACE: 0}, ends={_PLACE: end})

    def has_unseen(self) -> bool:
        """Whether rows would land; as `sources.base.Source.has_unseen`."""
        from lake_assets.sources.postgres.unseen import has_new_rows  # noqa: PLC0415 - as above

        return has_new_rows(self._source, self._lake, self._feed)

    def generation(self, names: Collection[str], *, timeout_s: float = ANSWER_S) -> Generation:  # noqa: ARG002 - a disk answers or fails
        """Which landing it is; as `sources.base.Source.generation`."""
        handle = handle_of(self._lake, self._feed)
        number = None if handle is None else table_id(handle)
        return Generation(identities=dict.fromkeys(names, number))

    def times(self, offsets: ByPlace, *, timeout_s: float = ANSWER_S) -> dict[Place, int]:  # noqa: ARG002 - as above
        """When the rows were read; as `sources.base.Source.times`."""
        offset = offsets.get(_PLACE)
        if offset is None:
            return {}
        try:
            (rows,) = self._landed(offset, offset + 1)
        except SourceError:
            return {}
        return {_PLACE: rows["read_at"].cast(pa.int64())[0].as_py()}

    def first_offsets(self, extent: Extent) -> dict[Place, int]:
        """With the first row."""
        return dict(extent.begins)

    def read(
        self, session: "SparkSession", *, starts: ByPlace, max_rows: int, tasks: int
    ) -> "DataFrame":
        """The table's rows; as `sources.base.Source.read`."""
        from lake_assets.sources.postgres.database import secrets_of  # noqa: PLC0415 - as above
        from lake_assets.sources.postgres.stream import Reading, read_table  # noqa: PLC0415 - Spark

        return read_table(
            session,
            Reading(
                feed=self._feed,
                source=self._source,
                secrets=secrets_of(self._source),
                lake=self._lake,
                start=starts.get(_PLACE, 0),
                max_rows=max_rows,
                tasks=tasks,
            ),
        )

    def fetch(
        self,
        *,
        starts: ByPlace,
        ends: ByPlace,
        timeout_s: float = ANSWER_S,  # noqa: ARG002 - as above
    ) -> Iterator[Fetched]:
        """As `sources.base.Source.fetch`."""
        start, end = starts.get(_PLACE, 0), ends.get(_PLACE, 0)
        for low in range(start, end, _PAGE):
            for batch in self._landed(low, min(end, low + _PAGE)):
                yield Fetched(rows=pa.Table.from_batches([batch]))

    def batch_end(self, planned: str) -> dict[Place, int]:
        """The reader's own offset."""
        return {_PLACE: json.loads(planned)["at"]}

    def _landed(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        handle = handle_of(self._lake, self._feed)
        files = [] if handle is None else files_with(handle, "ordinal", start, end - 1)
        yield from landed_rows(self._lake, self._feed, files, start, end)
