"""Rows that land as a streaming DataFrame, by a Python reader of Spark's.

Spark asks it before each micro-batch how far there is to read; it reads the source then, and lands
what is new. Tasks read what landed.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from lake_assets.delta.commit import DataFile
from lake_assets.errors import SourceError
from lake_assets.sources.landing.table import files_with, handle_of, landed_rows
from lake_assets.spark.jvm import spark_schema
from lake_assets.spark.python_source import read_stream
from lake_assets.storage.store import Store

_AT = "at"

_TASK_ROWS = 20_000
"""Below which a task is not worth its start."""

_ANSWERS_IN_S = 5.0
"""Seconds after which Spark gets what landed of a pass that has not ended, in a query without an
end: its rows shall not wait for a part of the source that is far behind."""


class Landing(Protocol):
    """What reads a source, and lands rows."""

    @property
    def end(self) -> int:
        """The offset that the next row gets."""

    def step(self) -> bool:
        """Land some rows; False once a pass has read all that there was when it began.

        Raises:
            SourceError: the source does not answer, refuses us, or is not as it was.
            LakeError: the lake cannot be written.
        """

    def pause(self) -> None:
        """Hold nothing of the source; a pass that has not ended goes on with the next step."""

    def close(self) -> None:
        """Let go of the source and the lake."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What the reader is told."""

    feed: str
    columns: pa.Schema
    lake: Store
    start: int
    max_rows: int
    tasks: int
    land: Callable[[], Landing] | None
    """Begins to read the source, in the reader's own process; tasks have none."""

    every_s: float
    """Seconds between two passes of a query without an end."""

    reads_for_s: float = 0
    """Seconds that a pass goes on for at least, though a batch is full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """What a task reads: rows between two offsets, and files that have them."""

    files: tuple[DataFile, ...]
    start: int
    end: int


def read_landed(session: SparkSession, kind: str, reading: Reading) -> DataFrame:
    """Stream a feed's rows, with the columns that the reading has.

    Args:
        session: runs the query.
        kind: of the source, in a word.
        reading: what is read.
    """
    return read_stream(session, kind, LandedDataSource, reading)


class LandedDataSource(DataSource):
    """Spark's view of the source of one query."""

    reading: Reading

    def schema(self) -> StructType:
        """Of the rows."""
        return spark_schema(self.reading.columns)

    def streamReader(self, schema: StructType) -> "LandedReader":  # noqa: ARG002, N802 - Spark's name
        """The one reader of the query."""
        return LandedReader(self.reading)


class LandedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lands rows, and says which a batch has; copies of it read them in tasks."""

    def __init__(self, reading: Reading) -> None:
        """Know what to read; nothing is opened before Spark asks."""
        self._reading = reading
        self._passes: _Passes | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What tasks get: they ask no source, and know none of its secrets."""
        return {"_reading": replace(self._reading, land=None), "_passes": None}

    @property
    def passes(self) -> "_Passes":
        """Begun when they are first needed."""
        if self._passes is None:
            self._passes = _Passes(self._reading)
        return self._passes

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - Spark's name
        """Where bronze is."""
        return {_AT: self._reading.start}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """End with the rows that are there now."""
        self.passes.end_with_what_is_there()

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: ARG002, N802
        """Where the next batch ends."""
        return {_AT: self.passes.next_end(start[_AT])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """What each task reads."""
        return [InputPartition(share) for share in self.passes.shares(start[_AT], end[_AT])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """A task's rows."""
        share: Share = partition.value
        told, span = self._reading, (share.start, share.end)
        yield from landed_rows(told.lake, told.feed, told.columns, share.files, span)

    def stop(self) -> None:
        """The query ends."""
        if self._passes is not None:
            self._passes.close()


class _Passes:
    """What the reader does in its own process."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        if reading.land is None:
            raise TypeError("tasks read no source")
        self._landing = reading.land()
        self._ends, self._has_ended = False, False
        self._next_at = 0.0

    def end_with_what_is_there(self) -> None:
        self._ends = True

    def next_end(self, start: int) -> int:
        self._land(start)
        return min(self._landing.end, start + self._reading.max_rows)

    def _land(self, start: int) -> None:
        """Read to the end of a pass, until a batch is full, or for as long as Spark may wait."""
        begun = time.monotonic()
        until = begun + self._reading.reads_for_s
        while not self._has_ended and (self._ends or time.monotonic() >= self._next_at):
            is_enough = self._landing.end - start >= self._reading.max_rows
            is_late = not self._ends and time.monotonic() >= begun + _ANSWERS_IN_S
            if is_late or (is_enough and time.monotonic() >= until):
                self._landing.pause()
                return
            try:
                has_more = self._landing.step()
            except SourceError:
                if self._landing.end > start:
                    return  # what came before that is taken first
                raise
            if not has_more:
                self._has_ended = self._ends
                self._next_at = time.monotonic() + self._reading.every_s
                return

    def shares(self, start: int, end: int) -> list[Share]:
        reading = self._reading
        handle = handle_of(reading.lake, reading.feed)
        if handle is None or start >= end:
            return []
        count = max(1, min(reading.tasks, -(-(end - start) // _TASK_ROWS)))
        places = [start + (end - start) * n // count for n in range(count + 1)]
        return [
            Share(files=tuple(files_with(handle, "ordinal", low, high - 1)), start=low, end=high)
            for low, high in pairwise(places)
        ]

    def close(self) -> None:
        self._landing.close()
