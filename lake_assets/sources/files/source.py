"""The files of a folder as a source of rows: what `sources.base` asks of one, told by the index."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Self

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.log_history import open_table
from lake_assets.errors import SettingsError, SourceError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.files_source import LISTING
from lake_assets.model.origins import ByPlace, Extent, Place
from lake_assets.model.tables import files_of
from lake_assets.sources.base import ANSWER_S, Fetched, Generation, Parser
from lake_assets.sources.files.discovery import has_new_files
from lake_assets.sources.files.index import Entry, end_of, entries_from, table_id
from lake_assets.sources.files.measuring import Cut
from lake_assets.sources.files.open_place import open_place, secrets_for
from lake_assets.sources.files.reading import COLUMNS, Part, read_part
from lake_assets.storage.store import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PLACE: Place = (LISTING, 0)

_PAGE = 10_000
"""Files that are known at once."""


@contextmanager
def _as_source_error() -> Iterator[None]:
    """A secret or an option of a bucket that cannot be used, as whoever asks a source expects it.

    Raises:
        SourceError: there is such a one.
    """
    try:
        yield
    except SettingsError as problem:
        raise SourceError(problem.thing, problem.fact, problem.next_step) from None


class FolderFiles:
    """A feed's files."""

    columns: ClassVar[pa.Schema] = COLUMNS
    parsers: ClassVar[Mapping[str, Parser]] = {}

    def __init__(self, feed: Feed, lake: Store) -> None:
        """Read files of this machine, by an index that is in the lake."""
        self._feed, self._lake = feed, lake
        self._cut = Cut.of(feed)

    @classmethod
    def of(cls, feed: Feed, endpoints: Endpoints, lake: Store) -> Self:  # noqa: ARG003 - nobody serves them
        """Made from what a feed declares; asks nobody."""
        return cls(feed, lake)

    def extent(self, *, timeout_s: float = ANSWER_S) -> Extent:
        """The offsets of files that the index has; raises as `sources.base.Source.extent`."""
        with _as_source_error():
            open_place(self._cut.source).ensure(timeout_s=timeout_s)
        index = self._index()
        end = 0 if index is None else end_of(index, self._feed.feed)
        return Extent(begins={_PLACE: 0}, ends={_PLACE: end})

    def has_unseen(self) -> bool:
        """Whether there are files that the index has not; as `sources.base.Source.has_unseen`."""
        with _as_source_error():
            return has_new_files(self._feed, self._lake)

    def generation(self, names: Collection[str], *, timeout_s: float = ANSWER_S) -> Generation:  # noqa: ARG002 - as above
        """Which index it is; as `sources.base.Source.generation`."""
        index = self._index()
        number = None if index is None else table_id(index)
        return Generation(identities=dict.fromkeys(names, number))

    def times(self, offsets: ByPlace, *, timeout_s: float = ANSWER_S) -> dict[Place, int]:  # noqa: ARG002 - as above
        """The modification times of the rows' files; as `sources.base.Source.times`."""
        offset = offsets.get(_PLACE)
        if offset is None:
            return {}
        for entry in entries_from(self._lake, self._feed.feed, offset, _PAGE):
            if entry.first <= offset < entry.end:
                return {_PLACE: entry.file.modified_ns // 1000}
        return {}

    def first_offsets(self, extent: Extent) -> dict[Place, int]:
        """With the first file."""
        return dict(extent.begins)

    def read(
        self, session: "SparkSession", *, starts: ByPlace, max_rows: int, tasks: int
    ) -> "DataFrame":
        """The files' rows; as `sources.base.Source.read`."""
        from lake_assets.sources.files.stream import Reading, read_files  # noqa: PLC0415 - Spark

        return read_files(
            session,
            Reading(
                feed=self._feed,
                lake=self._lake,
                start=starts.get(_PLACE, 0),
                max_rows=max_rows,
                tasks=tasks,
                secrets=secrets_for(self._cut.source),
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
        with _as_source_error():
            place = open_place(self._cut.source)
        for entry in self._entries(start, end):
            low, high = max(0, start - entry.first), min(entry.lines, end - entry.first)
            try:
                for batch in read_part(place, self._cut, Part(entry=entry, start=low, end=high)):
                    yield Fetched(rows=pa.Table.from_batches([batch]))
            except OSError as problem:
                fact = f"cannot be read ({problem.strerror or problem})"
                thing = f"file {entry.file.name} of {self._cut.source.path}"
                raise SourceError(thing, fact, "See to the disk") from problem

    def batch_end(self, planned: str) -> dict[Place, int]:
        """The reader's own offset."""
        return {_PLACE: json.loads(planned)["at"]}

    def _entries(self, start: int, end: int) -> Iterator[Entry]:
        """The files that have offsets between two."""
        at = start
        while at < end and (page := entries_from(self._lake, self._feed.feed, at, _PAGE)):
            yield from (entry for entry in page if entry.first < end)
            at = page[-1].end

    def _index(self) -> DeltaTable | None:
        return open_table(self._lake, files_of(self._feed.feed))
