"""Duplicates taken out of what a job has written, before it is committed.

A job's tasks know nothing of each other's rows, nor of silver's, so all that passes the
expectations is written first. Here the keys of the new files are read back and compared with each
other and with silver; files that have duplicates are written again without them, and the table of
duplicates gets a row for each. The rule is `silver.first_rows`'.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import folder_in_table, prefix_of, read_file
from lake_assets.delta.table_log import log_of
from lake_assets.delta.unused_writes import discard
from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.reports import BatchReport
from lake_assets.model.tables import TableRef, duplicates_of, quarantine_of, waiting_of
from lake_assets.parquet.data_file import write_file
from lake_assets.silver.demux_job import Demuxed
from lake_assets.silver.duplicate_rows import duplicate_rows
from lake_assets.silver.first_rows import Duplicates, find_duplicates
from lake_assets.silver.key_hashes import Mask
from lake_assets.silver.keyed_rows import KeyedRows, concatenated
from lake_assets.silver.seen_keys import SeenKeys
from lake_assets.silver.stored_keys import FileKeys, KeyReader, reader_of
from lake_assets.spark.fan_out import Written
from lake_assets.spark.lake_context import LakeContext

_THREADS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFile:
    """A file that a job has written, and that no commit names yet."""

    table: TableRef
    file: DataFile
    keys: FileKeys


@dataclass(frozen=True, kw_only=True, slots=True)
class _Outcome:
    """What became of a file."""

    new: NewFile
    left: DataFile | None
    """The file with the rows that stay; None if none does."""

    gone: pa.Table | None = None
    """Its duplicates, as the table of duplicates has them; None if it has none."""


@dataclass(kw_only=True)
class Deduplication:
    """What takes duplicates out of a feed's batches."""

    feed: Feed
    context: LakeContext
    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    """Held from the look at silver until rows are committed: nobody else adds rows meanwhile."""

    reader: KeyReader = field(init=False)
    seen: SeenKeys = field(init=False)

    def __post_init__(self) -> None:
        """Nothing of silver is known yet."""
        reader = reader_of(self.feed)
        assert reader is not None  # noqa: S101 - made for feeds that deduplicate
        self.reader = reader
        self.seen = SeenKeys(reader, self.context.committer)

    @contextmanager
    def unique(self, demuxed: Demuxed) -> Iterator[Demuxed]:
        """What a batch's job left, without duplicates; to be committed within the block.

        Raises:
            LakeError: a table cannot be read or written; nothing is left of the job.
        """
        with self.turn():
            try:
                unique = self._unique(demuxed)
            except BaseException:
                for table, written in demuxed.written.items():
                    with suppress(LakeError):  # what failed before is what is to be told
                        discard(log_of(self.context.lake, table), written.files)
                raise
            yield unique

    def _unique(self, demuxed: Demuxed) -> Demuxed:
        if not self.silver_in(demuxed):
            return demuxed
        kinds = self.seen.follow(self.silver_in(demuxed))
        new = self.read(demuxed, kinds)
        seen = self.seen.near(by_table(new))
        unique, kept = self.without(demuxed, new, seen)
        for table, files in kept.items():
            self.seen.expect(table, files)
        return unique

    def silver_in(self, demuxed: Demuxed) -> list[TableRef]:
        """The silver tables that a job wrote files of."""
        name = self.feed.feed
        aside = {quarantine_of(name), waiting_of(name), duplicates_of(name)}
        return sorted(t for t, w in demuxed.written.items() if w.files and t not in aside)

    def read(
        self, demuxed: Demuxed, kinds: Mapping[TableRef, Mapping[str, pa.DataType]]
    ) -> list[NewFile]:
        """The keys of the files that a job wrote."""

        def read(table: TableRef, file: DataFile) -> NewFile:
            log = log_of(self.context.lake, table)
            keys = self.reader.read(log, table, file, kinds[table])
            return NewFile(table=table, file=file, keys=keys)

        files = [(t, f) for t in self.silver_in(demuxed) for f in demuxed.written[t].files]
        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(lambda one: read(*one), files))

    def without(
        self,
        demuxed: Demuxed,
        new: Sequence[NewFile],
        seen: KeyedRows,
        was_there: Mask | None = None,
    ) -> tuple[Demuxed, dict[TableRef, dict[str, KeyedRows]]]:
        """A job's files without the rows that are duplicates.

        Args:
            demuxed: what the job left.
            new: its files of silver, with their keys.
            seen: rows that stay, of silver.
            was_there: which of the new files' rows silver had before.

        Returns:
            What is to be committed, and by table and path the keys of its files.
        """
        rows = concatenated([one.keys.rows for one in new])
        found = find_duplicates(
            rows, seen, self.reader.window_us, self.reader.places.ranks(), was_there
        )
        ends = np.cumsum([len(one.keys.rows) for one in new])
        starts = [0, *ends[:-1].tolist()]
        parts = [
            (one, _part(found, start, end))
            for one, start, end in zip(new, starts, ends.tolist(), strict=True)
        ]
        with self._discarded_on_failure() as made:
            with ThreadPoolExecutor(_THREADS) as pool:
                outcomes = list(pool.map(lambda one: self._filtered(one[0], one[1], made), parts))
            told = self._told(outcomes, made)
        for one in outcomes:
            if one.gone is not None:
                with suppress(LakeError):  # no commit names it, so maintenance deletes it
                    discard(log_of(self.context.lake, one.new.table), [one.new.file])
        return self._left(demuxed, outcomes, told), _kept(outcomes, parts)

    def _filtered(
        self, new: NewFile, found: Duplicates, made: list[tuple[TableRef, DataFile]]
    ) -> _Outcome:
        if not len(found.rows):
            return _Outcome(new=new, left=new.file)
        log = log_of(self.context.lake, new.table)
        rows = read_file(log, new.file)
        goes = np.zeros(rows.num_rows, np.bool_)
        goes[new.keys.numbers[found.rows]] = True
        order = np.argsort(new.keys.numbers[found.rows])
        key = self.feed.tables.key_of_silver(new.table.name)
        gone = duplicate_rows(
            rows.filter(pa.array(goes)),
            found.first.take(order),
            self.reader.places.places,
            key or new.table.name,
            self.feed.source.origin,
        )
        if goes.all():
            return _Outcome(new=new, left=None, gone=gone)
        written = write_file(
            log.store,
            rows.filter(pa.array(~goes)),
            log.folder,
            folder_in_table(new.file),
            prefix_of(new.file),
            new.file.partition,
        )
        left = DataFile(partition=new.file.partition, **written)  # type: ignore[arg-type]
        made.append((new.table, left))
        return _Outcome(new=new, left=left, gone=gone)

    def _told(
        self, outcomes: Iterable[_Outcome], made: list[tuple[TableRef, DataFile]]
    ) -> list[DataFile]:
        """The file of the table of duplicates, if there are any."""
        gone = [one.gone for one in outcomes if one.gone is not None]
        if not gone:
            return []
        table = duplicates_of(self.feed.feed)
        log = log_of(self.context.lake, table)
        file = DataFile(**write_file(log.store, pa.concat_tables(gone), log.folder))  # type: ignore[arg-type]
        made.append((table, file))
        return [file]

    def _left(
        self, demuxed: Demuxed, outcomes: Iterable[_Outcome], told: list[DataFile]
    ) -> Demuxed:
        files: dict[TableRef, list[DataFile]] = {}
        counts: dict[str, int] = {}
        for one in outcomes:
            files.setdefault(one.new.table, []).extend([one.left] if one.left else [])
            if one.gone is not None:
                key = one.gone["key"][0].as_py()
                counts[key] = counts.get(key, 0) + one.gone.num_rows
        written = {
            table: Written(files=files.get(table, was.files))
            for table, was in demuxed.written.items()
            if files.get(table, was.files)
        }
        if told:
            written[duplicates_of(self.feed.feed)] = Written(files=told)
        return replace(demuxed, written=written, duplicates=counts)

    @contextmanager
    def _discarded_on_failure(self) -> Iterator[list[tuple[TableRef, DataFile]]]:
        made: list[tuple[TableRef, DataFile]] = []
        try:
            yield made
        except BaseException:
            for table, file in made:
                with suppress(LakeError):  # what failed before is what is to be told
                    discard(log_of(self.context.lake, table), [file])
            raise


def deduplication_of(
    feed: Feed, context: LakeContext, turn: Callable[[], AbstractContextManager[None]]
) -> Deduplication | None:
    """What takes duplicates out of a feed's batches; None if it does not deduplicate."""
    if feed.deduplicate is None:
        return None
    return Deduplication(feed=feed, context=context, turn=turn)


def with_keys_held(report: BatchReport, deduplication: Deduplication | None) -> BatchReport:
    """A batch's report that says what is held in memory after it."""
    if deduplication is None:
        return report
    seen = deduplication.seen
    return replace(report, keys_held=seen.rows, keys_held_bytes=seen.nbytes)


def deduplicated(
    deduplication: Deduplication | None, demuxed: Demuxed
) -> AbstractContextManager[Demuxed]:
    """As `Deduplication.unique`, of a feed that may not deduplicate."""
    return nullcontext(demuxed) if deduplication is None else deduplication.unique(demuxed)


def by_table(new: Iterable[NewFile]) -> dict[TableRef, KeyedRows]:
    """The keys of new files, by table."""
    parts: dict[TableRef, list[KeyedRows]] = {}
    for one in new:
        parts.setdefault(one.table, []).append(one.keys.rows)
    return {table: concatenated(rows) for table, rows in parts.items()}


def _part(found: Duplicates, start: int, end: int) -> Duplicates:
    """Those among rows from a number up to another, numbered from there."""
    mine = np.flatnonzero((found.rows >= start) & (found.rows < end))
    return Duplicates(rows=found.rows[mine] - start, first=found.first.take(mine))


def _kept(
    outcomes: Iterable[_Outcome], parts: Iterable[tuple[NewFile, Duplicates]]
) -> dict[TableRef, dict[str, KeyedRows]]:
    kept: dict[TableRef, dict[str, KeyedRows]] = {}
    for one, (new, found) in zip(outcomes, parts, strict=True):
        files = kept.setdefault(new.table, {})
        if one.left is not None:
            stays = np.ones(len(new.keys.rows), np.bool_)
            stays[found.rows] = False
            files[one.left.path] = new.keys.rows.take(stays)
    return kept
