"""A table of PostgreSQL as a streaming DataFrame, by a Python reader of Spark's.

Spark asks it before each micro-batch how far there is to read; it reads the database then, and
lands what is new. Tasks read what landed.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any
from uuid import uuid4

import pyarrow as pa
from pydantic import SecretStr
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from lake_assets.delta.commit import DataFile
from lake_assets.errors import SourceError
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.sources.postgres.landed import COLUMNS, files_with, handle_of, landed_rows
from lake_assets.spark.jvm import spark_schema
from lake_assets.storage.store import Store

_AT = "at"

_TASK_ROWS = 20_000
"""Below which a task is not worth its start."""

_EVERY_S = 10.0
"""Seconds between two passes of a query without an end: each asks the database."""

_READS_FOR_S = 60.0
"""Seconds after which Spark gets a batch, though a pass goes on: the database would hold its
snapshot while Spark works, so the pass goes on in another. Each time costs the database a sort, if
it has no index."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What the reader is told."""

    feed: str
    source: PostgresSource
    secrets: Mapping[str, SecretStr]
    """By their variables, which Spark's processes need not have."""

    lake: Store
    start: int
    max_rows: int
    tasks: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """What a task reads: rows between two offsets, and files that have them."""

    files: tuple[DataFile, ...]
    start: int
    end: int


def read_table(session: SparkSession, reading: Reading) -> DataFrame:
    """Stream a feed's rows, `sources.postgres.landed.COLUMNS`."""
    # A name serves one session, and no other of the process takes it again.
    name = f"postgres_{uuid4().hex}"
    members = {"reading": reading, "name": classmethod(lambda _: name)}
    session.dataSource.register(type(name, (PostgresDataSource,), members))
    return session.readStream.format(name).load()


class PostgresDataSource(DataSource):
    """Spark's view of the table of one query."""

    reading: Reading

    def schema(self) -> StructType:
        """As `COLUMNS`."""
        return spark_schema(COLUMNS)

    def streamReader(self, schema: StructType) -> "PostgresReader":  # noqa: ARG002, N802 - Spark's name
        """The one reader of the query."""
        return PostgresReader(self.reading)


class PostgresReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lands rows, and says which a batch has; copies of it read them in tasks."""

    def __init__(self, reading: Reading) -> None:
        """Know what to read; nothing is opened before Spark asks."""
        self._reading = reading
        self._passes: _Passes | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What tasks get: they ask no database."""
        return {"_reading": replace(self._reading, secrets={}), "_passes": None}

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
        reading = self._reading
        yield from landed_rows(reading.lake, reading.feed, share.files, share.start, share.end)

    def stop(self) -> None:
        """The query ends."""
        if self._passes is not None:
            self._passes.close()


class _Passes:
    """What the reader does in its own process."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        # Not in tasks, which ask no database.
        from lake_assets.sources.postgres.landing import Landing  # noqa: PLC0415

        look_up = reading.secrets.__getitem__
        self._landing = Landing(reading.source, reading.lake, reading.feed, look_up)
        self._ends, self._has_ended = False, False
        self._next_at = 0.0

    def end_with_what_is_there(self) -> None:
        self._ends = True

    def next_end(self, start: int) -> int:
        self._land(start)
        return min(self._landing.end, start + self._reading.max_rows)

    def _land(self, start: int) -> None:
        """Read to the end of a pass, or for a while: the database's transaction shall be short."""
        until = time.monotonic() + _READS_FOR_S
        while not self._has_ended and (self._ends or time.monotonic() >= self._next_at):
            is_enough = self._landing.end - start >= self._reading.max_rows
            if is_enough and time.monotonic() >= until:
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
                self._next_at = time.monotonic() + _EVERY_S
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
