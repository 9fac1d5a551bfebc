"""The keys, times and origins of rows in silver's files, without the rest of the rows.

Which files are read is told by the log's bounds of their times. What follows from the rows is
`silver.first_rows`' to say.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.deletion_vectors import Mask, without_deleted
from lake_assets.delta.origins import columns_in
from lake_assets.delta.table_log import TableLog
from lake_assets.errors import FeedError, LakeError
from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import TableRef
from lake_assets.parquet.arrow_types import without_views
from lake_assets.parquet.read_file import opened
from lake_assets.silver.key_hashes import can_be_key, hash_keys
from lake_assets.silver.keyed_rows import Ints, KeyedRows, Numbers
from lake_assets.silver.rows import silver_origin

_SLACK_US = 1_000
"""Microseconds that a log's bound of a time may lie within the true one: it has milliseconds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileKeys:
    """Those rows of a file that have a key and a time."""

    rows: KeyedRows
    numbers: npt.NDArray[np.intp]
    """Which of the file's rows they are."""

    origins: pa.Table
    """The columns of their identity."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyReader:
    """Reads keys of a feed's silver. Thread-safe."""

    rule: Deduplicate
    origin: OriginColumns
    """The feed's columns that say where a row came from, as bronze calls them."""

    time: str
    """Silver's column that says when a row is from."""

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
        return {
            name: schema.field(name).type if name in schema.names else pa.null()
            for name in self.rule.key
        }

    def read(
        self,
        log: TableLog,
        table: TableRef,
        file: DataFile,
        kinds: Mapping[str, pa.DataType],
        kept: Mask | None = None,
    ) -> FileKeys:
        """The rows of a file of silver.

        Args:
            log: of the table.
            table: which one.
            file: of the table, whether a commit names it or not.
            kinds: types as which the key's columns are compared (`kinds_in`).
            kept: which of its rows are not deleted; all if None.

        Raises:
            LakeError: it cannot be read.
        """
        wanted = (*self.rule.key, self.time, *self.origin.in_silver.identity)
        try:
            rows = _columns(log, file, wanted)
        except (FileNotFoundError, pa.ArrowException) as problem:
            fact = f"its file {file.path} is gone or torn, so nothing tells which events it has"
            step = "Put it back, or run `lake-assets rebuild silver`"
            raise LakeError(table.name, fact, step) from problem
        number = np.arange(rows.num_rows)
        if kept is not None:
            rows, number = without_deleted(rows, kept), number[kept]
        times = _micros(rows, self.time)
        columns = [_as_kind(rows, name, kind) for name, kind in kinds.items()]
        hashes = hash_keys(columns, self.number_of(table))
        known = np.flatnonzero(hashes.is_known & (times > 0))
        origins = rows.select(columns_in(rows.column_names, self.origin).identity)
        if len(known) < rows.num_rows:
            origins = origins.take(pa.array(known))
        keyed = KeyedRows(
            high=hashes.high[known],
            low=hashes.low[known],
            time=times[known],
            offset=origins[self.origin.in_silver.offset].to_numpy().astype(np.int64),
            place=self._places(origins),
            table=np.full(len(known), self.number_of(table), np.int32),
        )
        return FileKeys(rows=keyed, numbers=number[known], origins=origins)

    def files_within(self, handle: DeltaTable, first_us: int, last_us: int) -> Iterator[DataFile]:
        """A table's files that may have rows of some time, by its log."""
        files = active_files(handle)
        told = pa.table(handle.get_add_actions(flatten=True))
        least, most = (_bounds(told, f"{bound}.{self.time}") for bound in ("min", "max"))
        for file, low, high in zip(files, least, most, strict=True):
            is_before = high is not None and high + _SLACK_US < first_us
            is_after = low is not None and low - _SLACK_US > last_us
            if not (is_before or is_after):
                yield file

    def _places(self, origins: pa.Table) -> npt.NDArray[np.int32]:
        columns = self.origin.in_silver
        names = origins[columns.name].combine_chunks()
        names = names.chunk(0) if isinstance(names, pa.ChunkedArray) else names
        encoded = names.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        parts = (
            np.zeros(len(codes), np.int64)
            if columns.partition is None
            else origins[columns.partition].to_numpy().astype(np.int64)
        )
        pairs, at = np.unique((codes << 32) | parts, return_inverse=True)
        found = [(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()]
        with self._alone:
            known = [self.places.of((encoded.dictionary[code].as_py(), p)) for code, p in found]
        return np.array(known, np.int32)[at.reshape(-1)]


def reader_of(feed: Feed) -> KeyReader | None:
    """What reads keys of a feed's silver; None if it does not deduplicate."""
    rule = feed.deduplicate
    if rule is None:
        return None
    time = rule.time or feed.source.origin.in_silver.time
    assert time is not None  # noqa: S101 - the feed was refused else
    return KeyReader(rule=rule, origin=feed.source.origin, time=time)


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


def _as_kind(rows: pa.Table, name: str, kind: pa.DataType) -> pa.ChunkedArray:
    if name not in rows.column_names:
        return pa.chunked_array([pa.nulls(rows.num_rows, kind)])
    column = rows[name]
    return column if column.type == kind else column.cast(kind, safe=False)


def _micros(rows: pa.Table, name: str) -> Ints:
    """When each row is from; 0 of those that do not tell."""
    if name not in rows.column_names:
        return np.zeros(rows.num_rows, np.int64)
    column = rows[name]
    if pa.types.is_string(column.type):  # of a partition's name
        column = column.cast(pa.timestamp("us"))
    zone = column.type.tz
    whole = column.cast(pa.timestamp("us", tz=zone), safe=False).cast(pa.int64())
    times: Ints = pc.fill_null(whole, 0).to_numpy()
    return times


def _bounds(told: pa.Table, name: str) -> list[int | None]:
    """A bound of each file's times in microseconds; None of files whose log does not tell."""
    if name not in told.column_names or not pa.types.is_timestamp(told[name].type):
        return [None] * told.num_rows
    zone = told[name].type.tz
    whole = told[name].cast(pa.timestamp("us", tz=zone), safe=False).cast(pa.int64())
    bounds: list[int | None] = whole.to_pylist()
    return bounds
