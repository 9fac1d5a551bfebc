"""Files as a streaming DataFrame, by a Python reader of Spark's, in a process of its own.

Spark asks it before each micro-batch how far there is to read; it goes on finding files then, and
archives or deletes those that bronze has. Tasks read.
"""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

import pyarrow as pa
from pydantic import SecretStr
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from lake_assets.errors import SourceError
from lake_assets.model.feeds import Feed
from lake_assets.sources.files.batches import batch_end, parts_of
from lake_assets.sources.files.cleaning import bronze_reached, clean
from lake_assets.sources.files.discovery import Discovery
from lake_assets.sources.files.index import Entry, entries_from
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.sources.files.measuring import Cut
from lake_assets.sources.files.open_place import open_place
from lake_assets.sources.files.place import FilePlace
from lake_assets.sources.files.reading import COLUMNS, Part, read_part
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.python_source import read_stream
from lake_assets.storage.store import Store

_AT = "at"

_PAUSE_S = 0.2
"""Seconds between two looks for files that have not settled, of a query that is to end."""

_TRIES, _RETRY_S = 3, 1.0
"""Further tries to list a folder that cannot be read, and the pause before each, in seconds."""

_CLEAN_EVERY_S = 5.0
_SHARE = 20
"""Seconds between two cleanings, which open bronze's log; one of t seconds comes again in 20 t."""

_CLEANED, _CLEANS_FOR_S = 10_000, 10.0
"""Files that leave at once, and seconds for which some do, about: batches wait meanwhile."""

_AHEAD = 32
"""Files that a place may read before a task comes to them."""

_MOST = 50_000
"""Files that are known and not read yet, about, in memory; the index has the others."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What the reader is told."""

    feed: Feed
    lake: Store
    start: int
    max_rows: int
    tasks: int
    secrets: Mapping[str, SecretStr] = field(default_factory=dict)
    """By variable those that the place takes; workers need not have the variables."""

    def place(self) -> FilePlace:
        """Where the files are, for the process that asks."""
        return open_place(Cut.of(self.feed).source, self.secrets.__getitem__)


def read_files(session: SparkSession, reading: Reading) -> DataFrame:
    """Stream a feed's rows, `sources.files.reading.COLUMNS`."""
    return read_stream(session, "files", FilesDataSource, reading)


class FilesDataSource(DataSource):
    """Spark's view of the files of one query."""

    reading: Reading

    def schema(self) -> StructType:
        """As `COLUMNS`."""
        return spark_schema(COLUMNS)

    def streamReader(self, schema: StructType) -> "FilesReader":  # noqa: ARG002, N802 - Spark's name
        """The one reader of the query."""
        return FilesReader(self.reading)


class FilesReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Finds files, and says which lines a batch has; copies of it read them in tasks."""

    def __init__(self, reading: Reading) -> None:
        """Know what to read; nothing is opened before Spark asks."""
        self._reading = reading
        self._finder: _Finder | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What tasks get: they find nothing."""
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
        """End with the files that are there now."""
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
        cut = Cut.of(self._reading.feed)
        parts: list[Part] = partition.value
        place = self._reading.place()
        for at, part in enumerate(parts):
            place.read_ahead([later.entry.file for later in parts[at : at + _AHEAD]])
            yield from read_part(place, cut, part)

    def commit(self, end: dict[str, int]) -> None:
        """A batch is in bronze: its files may leave."""
        self.finder.committed(end[_AT])

    def stop(self) -> None:
        """The query ends."""
        if self._finder is not None:
            self._finder.close()


class _Finder:
    """What the reader does in its own process."""

    def __init__(self, reading: Reading) -> None:
        feed, lake = reading.feed, reading.lake
        self._reading = reading
        self._index = FileIndex(lake, feed.feed)
        self._place = reading.place()
        self._discovery = Discovery(feed, lake, self._index, self._place)
        self._source = Cut.of(feed).source
        if not self._index.cleaned:
            self._place.begin_archive()
        self._pending: deque[Entry] = deque()
        self._loaded = reading.start
        self._ends_at: int | None = None
        self._ends = False
        self._clean_at = time.monotonic()
        self._wait_until: float | None = None

    def end_with_what_is_there(self) -> None:
        self._ends = True

    def next_end(self, start: int) -> int:
        self._clean()
        while self._pending and self._pending[0].end <= start:
            self._pending.popleft()
        self._load()
        if self._ends_at is None:
            self._find(start)
        end = batch_end(self._pending, start, self._reading.max_rows)
        return end if self._ends_at is None else max(start, min(end, self._ends_at))

    def _find(self, start: int) -> None:
        """Find more, unless a whole batch waits; of a query that ends, until there is one."""
        while self._index.end - start < self._reading.max_rows and len(self._pending) < _MOST:
            if self._ends and self._discovery.waits:
                self._discovery.look_again()
            self._step()
            self._load()
            if not self._ends:
                return
            if self._discovery.looks:
                if not self._discovery.waits or not self._has_time():
                    self._ends_at = self._index.end
                    return
                if self._index.end > start:
                    return
                time.sleep(_PAUSE_S)

    def _has_time(self) -> bool:
        """Whether files that had not settled at the first look may do so yet."""
        now = time.monotonic()
        if self._wait_until is None:
            self._wait_until = now + self._source.settles_for_s + 1.0
        return now < self._wait_until

    def _load(self) -> None:
        """Know the next files, as far as the index has some."""
        if self._loaded >= self._index.end or len(self._pending) >= _MOST:
            return
        lake, feed = self._reading.lake, self._reading.feed.feed
        page = entries_from(lake, feed, self._loaded, _MOST)
        self._pending.extend(page)
        self._loaded = page[-1].end

    def _step(self) -> None:
        """Find more; a disk that is away for a moment is no reason to end the query."""
        for _ in range(_TRIES):
            try:
                return self._keep(self._discovery.step())
            except SourceError:
                time.sleep(_RETRY_S)
        return self._keep(self._discovery.step())

    def _keep(self, entries: list[Entry]) -> None:
        """Know files that were just found, unless there are others before them to be known."""
        if entries and self._loaded == entries[0].first:
            self._pending.extend(entries)
            self._loaded = entries[-1].end

    def parts(self, start: int, end: int) -> list[list[Part]]:
        entries = takewhile(lambda entry: entry.first < end, self._pending)
        return parts_of(entries, start, end, self._reading.tasks)

    def committed(self, end: int) -> None:  # noqa: ARG002 - bronze itself is asked
        self._clean()

    def _clean(self) -> None:
        began = time.monotonic()
        if not self._source.is_cleaned or began < self._clean_at:
            return
        lake, feed, done = self._reading.lake, self._reading.feed, self._index.cleaned
        reached = bronze_reached(lake, feed)
        if reached > done:
            self._index.flush()  # bronze's commits outlive a power cut before what they are of goes
            entries = _leaving(lake, feed.feed, done)
            leaving = takewhile(lambda entry: entry.end <= reached, entries)
            done = clean(self._place, leaving, has_cleaned=done > 0, for_s=_CLEANS_FOR_S)
        if done > self._index.cleaned:
            self._index.note_cleaned(done)
        took = time.monotonic() - began
        share = _SHARE if took < _CLEANS_FOR_S else 1  # else there are more of them
        self._clean_at = began + max(_CLEAN_EVERY_S, share * took)

    def close(self) -> None:
        self._clean_at = 0.0
        self._clean()
        self._index.close()


def _leaving(lake: Store, feed: str, start: int) -> list[Entry]:
    """The files that leave next, so many that at least one has lines, if there is such a one."""
    most = _CLEANED
    while True:
        entries = entries_from(lake, feed, start, most, with_empty=True)
        if len(entries) < most or entries[-1].end > start:
            return entries
        most *= 2
