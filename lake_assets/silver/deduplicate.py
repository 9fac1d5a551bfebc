"""Duplicates taken out of what a job has written, before it is committed.

A job's tasks know nothing of each other's rows, nor of silver's, so all that passes the
expectations is written first, with its keys beside it. Here these are compared with each other and
with silver; files that have duplicates are written again without them, and the table of duplicates
gets a row for each. The rule is `silver.first_rows`'.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa

from lake_assets.delta.commit import DataFile
from lake_assets.delta.table_log import log_of
from lake_assets.delta.unused_writes import discard
from lake_assets.errors import LakeError
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef, duplicates_of, erased_of, quarantine_of, waiting_of
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.first_rows import find_duplicates
from lake_assets.silver.key_hashes import Mask
from lake_assets.silver.keyed_rows import KeyedRows, concatenated
from lake_assets.silver.keys_beside import KeysBeside, fetched, keys_folder, sweep
from lake_assets.silver.seen_keys import SeenKeys
from lake_assets.silver.stored_keys import FileKeys, KeyReader, reader_of
from lake_assets.silver.turn import Turn, no_turn
from lake_assets.silver.without_duplicates import Gone, Rewriting
from lake_assets.spark.lake_context import LakeContext

_THREADS = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class NewFile:
    """A file that a job has written, and that no commit names yet."""

    table: TableRef
    file: DataFile
    keys: FileKeys


@dataclass(kw_only=True)
class Deduplication:
    """What takes duplicates out of a feed's batches."""

    feed: Feed
    context: LakeContext
    turn: Turn = no_turn
    """Held from the look at silver until rows are committed: nobody else adds rows meanwhile."""

    folder: Path | None = None
    """Where tasks leave the keys of what they write (`keys_folder`)."""

    reader: KeyReader = field(init=False)
    seen: SeenKeys = field(init=False)

    def __post_init__(self) -> None:
        """Nothing of silver is known yet."""
        reader = reader_of(self.feed)
        assert reader is not None  # noqa: S101 - made for feeds that deduplicate
        self.reader = reader
        self.seen = SeenKeys(reader, self.context.committer)

    def beside(self, tables: int) -> KeysBeside:
        """What tasks of the running session leave beside their files of so many tables."""
        self.folder = keys_folder(self.feed)
        return KeysBeside(folder=self.folder, columns=self.reader.columns, tables=tables)

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
        files = self.files_in(demuxed)
        if not files:
            return demuxed
        kinds = self.seen.follow(dict.fromkeys(table for table, _ in files))
        new = self.read(files, kinds)
        gone = self.gone_of(new, self.seen.near(_by_table(new)))
        unique, left = self.without(demuxed, files, gone)
        kept: dict[TableRef, dict[str, KeyedRows]] = {one.table: {} for one in new}
        for one, its, file in zip(new, gone, left, strict=True):
            if file is not None:
                stays = ~np.isin(one.keys.numbers, its.numbers)
                kept[one.table][file.path] = one.keys.rows.take(stays)
        for table, rows in kept.items():
            self.seen.expect(table, rows)
        return unique

    def files_in(self, demuxed: Demuxed) -> list[tuple[TableRef, DataFile]]:
        """The files of silver that a job wrote, those of a table together."""
        name = self.feed.feed
        aside = {of(name) for of in (quarantine_of, waiting_of, duplicates_of, erased_of)}
        tables = sorted(demuxed.written.keys() - aside)
        return [(table, file) for table in tables for file in demuxed.written[table].files]

    def read(
        self,
        files: Iterable[tuple[TableRef, DataFile]],
        kinds: Mapping[TableRef, Mapping[str, pa.DataType]],
    ) -> list[NewFile]:
        """The keys of files that a job wrote."""

        def read(table: TableRef, file: DataFile) -> NewFile:
            log = log_of(self.context.lake, table)
            given = fetched(self.folder, file.path)
            keys = self.reader.read(log, table, file, kinds[table], given=given)
            return NewFile(table=table, file=file, keys=keys)

        with ThreadPoolExecutor(_THREADS) as pool:
            return list(pool.map(lambda one: read(*one), files))

    def gone_of(
        self, new: Sequence[NewFile], seen: KeyedRows, was_there: Mask | None = None
    ) -> list[Gone]:
        """Which rows of new files are duplicates.

        Args:
            new: files of silver, with their keys.
            seen: rows that stay, of silver.
            was_there: which of the new files' rows silver had before.
        """
        rows, window_us = concatenated([one.keys.rows for one in new]), self.reader.window_us
        found = find_duplicates(rows, seen, window_us, self.reader.places.ranks(), was_there)
        order = np.argsort(found.rows)
        at, first = found.rows[order], found.first.take(order)
        gone, start = [], 0
        for one in new:
            end = start + len(one.keys.rows)
            low, high = np.searchsorted(at, [start, end])
            numbers = one.keys.numbers[at[low:high] - start]
            gone.append(Gone(numbers=numbers, first=first.take(np.arange(low, high))))
            start = end
        return gone

    def without(
        self, demuxed: Demuxed, files: Sequence[tuple[TableRef, DataFile]], gone: Sequence[Gone]
    ) -> tuple[Demuxed, list[DataFile | None]]:
        """As `Rewriting.without`; what tasks left beside the files goes."""
        sweep(self.folder)
        places = tuple(self.reader.places.places)
        rewriting = Rewriting(feed=self.feed, lake=self.context.lake, places=places)
        return rewriting.without(demuxed, files, gone)


def _by_table(new: Iterable[NewFile]) -> dict[TableRef, KeyedRows]:
    """The keys of new files, by table."""
    parts: dict[TableRef, list[KeyedRows]] = {}
    for one in new:
        parts.setdefault(one.table, []).append(one.keys.rows)
    return {table: concatenated(rows) for table, rows in parts.items()}
