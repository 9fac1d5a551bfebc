"""A Delta table as a source of rows: what `sources.base` asks of one, told by the index."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table
from lake_assets.delta.log_tail import newest_version
from lake_assets.errors import SourceError
from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.one_source import TABLE
from lake_assets.model.origins import ByPlace, Extent, Place
from lake_assets.model.tables import files_of
from lake_assets.sources.base import ANSWER_S, Fetched, Generation, Parser
from lake_assets.sources.delta.rows import COLUMNS, read_part
from lake_assets.sources.delta.source_table import log_of_source, open_source, reached
from lake_assets.sources.files.index import Entry, end_of, entries_from, table_id
from lake_assets.sources.files.reading import Part
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACE: Place = (TABLE, 0)

_PAGE = 10_000
"""Files that are known at once."""


class AppendedRows:
    """The rows that are appended to a feed's Delta table."""

    columns: ClassVar[pa.Schema] = COLUMNS
    parsers: ClassVar[Mapping[str, Parser]] = {}

    def __init__(self, feed: str, source: DeltaSource, lake: Store) -> None:
        """Read a table of this machine, by an index that is in the lake."""
        self._feed, self._source, self._lake = feed, source, lake

    @classmethod
    def of(cls, feed: Feed, endpoints: Endpoints, lake: Store) -> Self:  # noqa: ARG003 - nobody serves it
        """Made from what a feed declares; asks nobody."""
        declared = feed.source.delta
        if declared is None:
            raise TypeError("a feed of a Delta table declares it")
        return cls(feed.feed, declared, lake)

    def extent(self, *, timeout_s: float = ANSWER_S) -> Extent:  # noqa: ARG002 - a disk answers or fails
        """The offsets of files that the index has; raises as `sources.base.Source.extent`."""
        open_source(self._source, self._lake, reached(self._lake, self._feed))
        index = self._index()
        end = 0 if index is None else end_of(index, self._feed)
        return Extent(begins={_PLACE: 0}, ends={_PLACE: end})

    def has_unseen(self) -> bool:
        """Whether the index lacks versions; as `sources.base.Source.has_unseen`."""
        known = reached(self._lake, self._feed)
        open_source(self._source, self._lake, known)
        read = (self._source.starting_version or 0) - 1 if known is None else known.version
        return newest_version(log_of_source(self._source)) > read

    def generation(self, names: Collection[str], *, timeout_s: float = ANSWER_S) -> Generation:  # noqa: ARG002 - as above
        """Which index it is; as `sources.base.Source.generation`."""
        index = self._index()
        number = None if index is None else table_id(index)
        return Generation(identities=dict.fromkeys(names, number))

    def times(self, offsets: ByPlace, *, timeout_s: float = ANSWER_S) -> dict[Place, int]:  # noqa: ARG002 - as above
        """When the rows were committed; as `sources.base.Source.times`."""
        offset = offsets.get(_PLACE)
        if offset is None:
            return {}
        for entry in entries_from(self._lake, self._feed, offset, 1):
            if entry.first <= offset < entry.end:
                return {_PLACE: entry.file.modified_ns // 1000}
        return {}

    def first_offsets(self, extent: Extent) -> dict[Place, int]:
        """With the first file."""
        return dict(extent.begins)

    def read(
        self, session: "SparkSession", *, starts: ByPlace, max_rows: int, tasks: int
    ) -> "DataFrame":
        """The table's rows; as `sources.base.Source.read`."""
        from lake_assets.sources.delta.stream import Reading, read_table  # noqa: PLC0415 - Spark

        return read_table(
            session,
            Reading(
                feed=self._feed,
                source=self._source,
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
        timeout_s: float = ANSWER_S,  # noqa: ARG002 - a disk answers or fails
    ) -> Iterator[Fetched]:
        """As `sources.base.Source.fetch`; what cannot be read has a row that says so."""
        start, end = starts.get(_PLACE, 0), ends.get(_PLACE, 0)
        for entry in self._entries(start, end):
            low, high = max(0, start - entry.first), min(entry.lines, end - entry.first)
            try:
                for batch in read_part(self._source, Part(entry=entry, start=low, end=high)):
                    yield Fetched(rows=pa.Table.from_batches([batch]))
            except OSError as problem:
                fact = f"has a file that cannot be read ({problem.strerror or problem})"
                raise SourceError(self._source.title, fact, "See to the disk") from problem

    def batch_end(self, planned: str) -> dict[Place, int]:
        """The reader's own offset."""
        return {_PLACE: json.loads(planned)["at"]}

    def _entries(self, start: int, end: int) -> Iterator[Entry]:
        """The files that have offsets between two."""
        at = start
        while at < end and (page := entries_from(self._lake, self._feed, at, _PAGE)):
            yield from (entry for entry in page if entry.first < end)
            at = page[-1].end

    def _index(self) -> DeltaTable | None:
        return open_table(self._lake, files_of(self._feed))
