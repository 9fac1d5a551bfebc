"""The keys, times and origins of rows in silver's files, without the rest of the rows.

Which files are read is told by the log's bounds of their times. What follows from the rows is
`silver.first_rows`' to say.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.deletion_vectors import Mask, without_deleted
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import FeedError, LakeError
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.origins import FEED
from lake_assets.model.tables import TableRef
from lake_assets.parquet.arrow_types import without_views
from lake_assets.parquet.read_file import opened
from lake_assets.silver.file_keys import (
    KeyColumns,
    feed_and_name,
    is_of,
    keys_in,
    kinds_of,
    places_of,
)
from lake_assets.silver.key_hashes import can_be_key, salted
from lake_assets.silver.keyed_rows import KeyedRows, Numbers
from lake_assets.silver.rows import silver_origin

_SLACK_US = 1_000
"""Microseconds that a log's bound of a time may lie within the true one: it has milliseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileKeys:
    """Those rows of a file that have a key and a time."""

    rows: KeyedRows
    numbers: npt.NDArray[np.intp]
    """Which of the file's rows they are."""

    def part(self, number: int, parts: int) -> Self:
        """One of some parts, by their keys: equal ones are in the same."""
        if parts == 1:
            return self
        mine = np.flatnonzero(self.rows.high % np.uint64(parts) == number)
        return replace(self, rows=self.rows.take(mine), numbers=self.numbers[mine])


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyReader:
    """Reads keys of a feed's silver. Thread-safe."""

    rule: Deduplicate
    columns: KeyColumns
    places: Numbers = field(default_factory=Numbers)
    _tables: dict[TableRef, int] = field(default_factory=dict)
    _alone: threading.Lock = field(default_factory=threading.Lock)

    @property
    def window_us(self) -> int:
        """The window in microseconds."""
        return round(self.rule.within.total_seconds() * 1_000_000)

    def number_of(self, table: TableRef) -> int:
        """A table's number here."""
        with self._alone:
            return self._tables.setdefault(table, len(self._tables))

    def kinds_in(self, handle: DeltaTable) -> dict[str, pa.DataType]:
        """By column of the key its type in a table; null of one that the table has not yet."""
        schema = without_views(pa.schema(handle.schema().to_arrow()).empty_table()).schema
        return kinds_of(schema, self.columns)

    def read(
        self,
        log: TableLog,
        table: TableRef,
        file: DataFile,
        kinds: Mapping[str, pa.DataType],
        kept: Mask | None = None,
        given: pa.Table | None = None,
    ) -> FileKeys:
        """The rows of a file of silver.

        Args:
            log: of the table.
            table: which one.
            file: of the table, whether a commit names it or not.
            kinds: types as which the key's columns are compared (`kinds_in`).
            kept: which of its rows are not deleted; all if None.
            given: `keys_in` the file, if they were computed already.

        Raises:
            LakeError: it cannot be read.
        """
        if given is not None and is_of(given, kinds):
            return self._of_table(given, table)
        try:
            rows = _columns(log, file, self.columns.names)
        except (FileNotFoundError, pa.ArrowException) as problem:
            fact = f"its file {file.path} is gone or torn, so nothing tells which events it has"
            step = "Put it back, or run `lake-assets rebuild silver`"
            raise LakeError(table.name, fact, step) from problem
        found = self._of_table(keys_in(without_deleted(rows, kept), self.columns, kinds), table)
        if kept is None:
            return found
        return replace(found, numbers=np.flatnonzero(kept)[found.numbers])

    def origins(self, rows: KeyedRows) -> pa.Table:
        """The columns of rows' identity, as silver has them."""
        places, owner = self.places.places, self.columns.owner
        whose = [feed_and_name(name, owner) for name, _ in places]
        numbers = [number for _, number in places]
        of_row = pa.array(rows.place)
        columns = {
            self.columns.origin.name: pa.array([n for _, n in whose], pa.string()).take(of_row),
            FEED: pa.array([feed for feed, _ in whose], pa.string()).take(of_row),
            self.columns.origin.offset: pa.array(rows.offset),
        }
        if self.columns.origin.partition is not None:
            columns[self.columns.origin.partition] = np.array(numbers, np.int32)[rows.place]
        return pa.table(columns)

    def _of_table(self, keys: pa.Table, table: TableRef) -> FileKeys:
        number, arrays = self.number_of(table), {n: keys[n].to_numpy() for n in keys.column_names}
        with self._alone:
            places = np.array([self.places.of(place) for place in places_of(keys)], np.int32)
        rows = KeyedRows(
            high=salted(arrays["high"], number),
            low=salted(arrays["low"], number),
            time=arrays["time"],
            offset=arrays["offset"],
            place=places[arrays["place"]],
            table=np.full(keys.num_rows, number, np.int32),
        )
        return FileKeys(rows=rows, numbers=arrays["number"])

    def files_within(
        self, handle: DeltaTable, spans: Sequence[tuple[int, int]]
    ) -> Iterator[DataFile]:
        """A table's files that may have rows of some times, by its log.

        Args:
            handle: the table.
            spans: the first and the last microsecond of each, the earliest first.
        """
        files, lasts = active_files(handle), [last for _, last in spans]
        told = pa.table(handle.get_add_actions(flatten=True))
        least, most = (_bounds(told, f"{bound}.{self.columns.time}") for bound in ("min", "max"))
        for file, low, high in zip(files, least, most, strict=True):
            at = 0 if low is None else bisect_left(lasts, low - _SLACK_US)
            if at < len(spans) and (high is None or spans[at][0] <= high + _SLACK_US):
                yield file


def reader_of(feed: Feed) -> KeyReader | None:
    """What reads keys of a feed's silver; None if it does not deduplicate."""
    rule = feed.deduplicate
    if rule is None:
        return None
    origin = feed.source.origin.in_silver
    time = rule.time or origin.time
    assert time is not None  # noqa: S101 - the feed was refused else
    columns = KeyColumns(key=rule.key, time=time, origin=origin, owner=tables_owner(feed))
    return KeyReader(rule=rule, columns=columns)


def ensure_deduplicable(feed: Feed, decoded: pa.Schema) -> None:
    """Make sure that a feed's rows can be told apart by the columns that it names.

    Args:
        feed: what is declared.
        decoded: silver's columns, but for those of the origin.

    Raises:
        FeedError: there is no such column, or its type holds no key, or no time.
    """
    rule = feed.deduplicate
    if rule is None:
        return
    thing = f"deduplicate of feed {feed.feed!r}"
    columns = pa.schema([*decoded, *silver_origin(feed.source.origin)])
    for name in (*rule.key, *([rule.time] if rule.time else ())):
        if name not in columns.names:
            near = [each for each in columns.names if each.lower() == name.lower()]
            step = f"Columns are {', '.join(decoded.names)}"
            if feed.payload.infers:
                step += f". If rows are to have it later, declare it: `hints: {name} string`"
            step = f"Write {near[0]}" if near else step
            raise FeedError(thing, f"names {name}, which silver has not", step)
    for name in rule.key:
        if not can_be_key(columns.field(name).type):
            fact = f"{name} is {columns.field(name).type}, and rows are told apart by plain values"
            raise FeedError(thing, fact, f"Select a field of it: `{name}.id as event_id`")
    if rule.time and not pa.types.is_timestamp(columns.field(rule.time).type):
        fact = f"time is {rule.time}, which is {columns.field(rule.time).type}"
        raise FeedError(thing, fact, "Name a timestamp, or select one: `cast(x as timestamp) as t`")


def _columns(log: TableLog, file: DataFile, wanted: Sequence[str]) -> pa.Table:
    """Those of some columns that a file has, and those that its place in the table tells."""
    with log.store.open_for_reading(log.data_file(file.path)) as source, opened(source) as parquet:
        names = [name for name in wanted if name in parquet.schema_arrow.names]
        rows = without_views(_read(parquet, names))
    for name in wanted:
        if name not in rows.column_names and name in file.partition:
            told = pa.scalar(file.partition[name], pa.string())
            rows = rows.append_column(name, pa.repeat(told, rows.num_rows))
    return rows


def _read(parquet: pq.ParquetFile, names: list[str]) -> pa.Table:
    return parquet.read(columns=names, use_threads=False)


def _bounds(told: pa.Table, name: str) -> list[int | None]:
    """A bound of each file's times in microseconds; None of files whose log does not tell."""
    if name not in told.column_names or not pa.types.is_timestamp(told[name].type):
        return [None] * told.num_rows
    zone = told[name].type.tz
    whole = told[name].cast(pa.timestamp("us", tz=zone), safe=False).cast(pa.int64())
    bounds: list[int | None] = whole.to_pylist()
    return bounds
