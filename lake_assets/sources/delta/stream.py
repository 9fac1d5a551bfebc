"""A Delta table as a streaming DataFrame, by a Python reader of Spark's.

Spark asks it before each micro-batch how far there is to read; it follows the table's log then.
Tasks read.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from lake_assets.errors import SourceError
from lake_assets.model.delta_source import DeltaSource
from lake_assets.sources.delta.following import Following
from lake_assets.sources.delta.rows import COLUMNS, read_part
from lake_assets.sources.files.batches import batch_end, parts_of
from lake_assets.sources.files.index import Entry, entries_from
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.sources.files.reading import Part
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.python_source import read_stream
from lake_assets.storage.store import Store

_AT = "at"

_MOST = 20_000
"""Files that are known and not read yet, about, in memory; the index has the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What the reader is told."""

    feed: str
    source: DeltaSource
    lake: Store
    start: int
    max_rows: int
    tasks: int


def read_table(session: SparkSession, reading: Reading) -> DataFrame:
    """Stream a feed's rows, `sources.delta.rows.COLUMNS`."""
    return read_stream(session, "delta", DeltaDataSource, reading)


class DeltaDataSource(DataSource):
    """Spark's view of the table of one query."""

    reading: Reading

    def schema(self) -> StructType:
        """As `COLUMNS`."""
        return spark_schema(COLUMNS)

    def streamReader(self, schema: StructType) -> "DeltaReader":  # noqa: ARG002, N802 - Spark's name
        """The one reader of the query."""
        return DeltaReader(self.reading)


class DeltaReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows the table, and says which rows a batch has; copies of it read them in tasks."""

    def __init__(self, reading: Reading) -> None:
        """Know what to read; nothing is opened before Spark asks."""
        self._reading = reading
        self._finder: _Finder | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What tasks get: they follow nothing."""
        return {"_reading": self._reading, "_finder": None}

    @property
    def finder(self) -> "_Finder":
        """Opened when it is first needed."""
        if self._finder is None:
            self._finder = _Finder(self._reading)
        return self._finder

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Where bronze is."""
        return {_AT: self._reading.start}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End with the versions that are there now."""
        self.finder.end_with_what_is_there()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        """Where the next batch ends."""
        return {_AT: self.finder.next_end(start[_AT])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """What each task reads."""
        shares = self.finder.parts(start[_AT], end[_AT])
        return [InputPartition(share) for share in shares]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A task's rows."""
        parts: list[Part] = partition.value
        for part in parts:
            yield from read_part(self._reading.source, part)

    def stop(self) -> None:
        """The query ends."""
        if self._finder is not None:
            self._finder.close()


class _Finder:
    """What the reader does in its own process."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._index = FileIndex(reading.lake, reading.feed)
        self._following = Following(reading.source, reading.lake, self._index, reading.feed)
        self._pending: deque[Entry] = deque()
        self._loaded = reading.start
        self._ends_at: int | None = None
        self._ends = False

    def end_with_what_is_there(self) -> None:
        self._ends = True

    def next_end(self, start: int) -> int:
        while self._pending and self._pending[0].end <= start:
            self._pending.popleft()
        if self._ends_at is None:
            self._find(start)
        self._load()
        end = batch_end(self._pending, start, self._reading.max_rows)
        return end if self._ends_at is None else max(start, min(end, self._ends_at))

    def _find(self, start: int) -> None:
        """Find more, unless a whole batch waits."""
        while self._index.end - start < self._reading.max_rows:
            try:
                has_more = self._following.step()
            except SourceError:
                if self._index.end > start:
                    return  # what came before that is read first
                raise
            if not has_more:
                self._ends_at = self._index.end if self._ends else None
                return

    def _load(self) -> None:
        """Know the next files, as far as the index has some."""
        if self._loaded >= self._index.end or len(self._pending) >= _MOST:
            return
        page = entries_from(self._reading.lake, self._reading.feed, self._loaded, _MOST)
        self._pending.extend(page)
        self._loaded = page[-1].end

    def parts(self, start: int, end: int) -> list[list[Part]]:
        entries = takewhile(lambda entry: entry.first < end, self._pending)
        return parts_of(entries, start, end, self._reading.tasks)

    def close(self) -> None:
        self._index.close()
