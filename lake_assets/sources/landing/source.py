"""What sources are alike in whose rows land first; `sources.base.Source` says what each does."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import ClassVar

import pyarrow as pa

from lake_assets.errors import SourceError
from lake_assets.model.origins import ByPlace, Extent, Place
from lake_assets.sources.base import ANSWER_S, Fetched, Generation, Parser
from lake_assets.sources.files.index import table_id
from lake_assets.sources.landing.table import end_of, files_with, handle_of, landed_rows
from lake_assets.storage.store import Store

_PAGE = 20_000
"""Rows that are fetched at once."""


class LandedSource:
    """Rows of one place, by what of them landed in the lake."""

    columns: ClassVar[pa.Schema]
    parsers: ClassVar[Mapping[str, Parser]] = {}
    time: ClassVar[str]
    """The column that says when the source got a row."""

    def __init__(self, feed: str, name: str, lake: Store) -> None:
        """Rows of a feed's source, which has this name."""
        self._feed, self._lake = feed, lake
        self._place: Place = (name, 0)

    def _landed_extent(self) -> Extent:
        handle = handle_of(self._lake, self._feed)
        end = 0 if handle is None else end_of(handle, self._feed)
        return Extent(begins={self._place: 0}, ends={self._place: end})

    def generation(self, names: Collection[str], *, timeout_s: float = ANSWER_S) -> Generation:  # noqa: ARG002 - a disk answers or fails
        """Which landing it is; as `sources.base.Source.generation`."""
        handle = handle_of(self._lake, self._feed)
        number = None if handle is None else table_id(handle)
        return Generation(identities=dict.fromkeys(names, number))

    def times(self, offsets: ByPlace, *, timeout_s: float = ANSWER_S) -> dict[Place, int]:  # noqa: ARG002 - as above
        """When the source got rows; as `sources.base.Source.times`."""
        offset = offsets.get(self._place)
        if offset is None:
            return {}
        try:
            (rows,) = self._landed(offset, offset + 1)
        except SourceError:
            return {}
        return {self._place: rows[self.time].cast(pa.int64())[0].as_py()}

    def first_offsets(self, extent: Extent) -> dict[Place, int]:
        """With the first row."""
        return dict(extent.begins)

    def fetch(
        self,
        *,
        starts: ByPlace,
        ends: ByPlace,
        timeout_s: float = ANSWER_S,  # noqa: ARG002 - as above
    ) -> Iterator[Fetched]:
        """As `sources.base.Source.fetch`."""
        start, end = starts.get(self._place, 0), ends.get(self._place, 0)
        for low in range(start, end, _PAGE):
            for batch in self._landed(low, min(end, low + _PAGE)):
                yield Fetched(rows=pa.Table.from_batches([batch]))

    def batch_end(self, planned: str) -> dict[Place, int]:
        """The reader's own offset."""
        return {self._place: json.loads(planned)["at"]}

    def _landed(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        handle = handle_of(self._lake, self._feed)
        files = [] if handle is None else files_with(handle, "ordinal", start, end - 1)
        yield from landed_rows(self._lake, self._feed, self.columns, files, (start, end))
