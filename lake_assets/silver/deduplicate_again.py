"""Duplicates among rows that are derived again: by a requeue, a rebuild, or catching up.

Rows that silver had before come first, so a rebuild leaves what was there; what stays of silver
stays. Nothing is cached: such a change reads the keys of its tables. One table is in memory at a
time, and of a large one a part of the keys.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.change_journal import origins_in
from lake_assets.delta.commit import DataFile
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.offset_range import Range
from lake_assets.delta.origins import Origins, RowSet, own_of
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import Spans
from lake_assets.model.tables import TableRef
from lake_assets.silver.deduplicate import Deduplication, NewFile
from lake_assets.silver.demuxed import Demuxed
from lake_assets.silver.keyed_rows import KeyedRows, concatenated
from lake_assets.silver.pending_files import pending_files
from lake_assets.silver.stored_keys import FileKeys
from lake_assets.silver.without_duplicates import Gone

_ROWS_AT_ONCE = 10_000_000
"""Rows whose keys are in memory at once, each some 200 bytes while they are sorted: below, a large
rebuild reads its files more often."""


@contextmanager
def unique_again(
    deduplication: Deduplication | None,
    demuxed: Demuxed,
    leaving: Mapping[TableRef, Range | None],
    journal: Journal,
    *,
    is_all: bool,
    dropped: Spans | None = None,
) -> Iterator[Demuxed]:
    """What was derived again, without duplicates; to be committed within the block.

    Args:
        deduplication: of the feed; None if it does not deduplicate.
        demuxed: what was derived; its files stay where this fails.
        leaving: by table, which rows give way to it; None are those that are derived, to
            whichever table.
        journal: of the feed's batches, one of which may wait to be finished.
        is_all: whether all of silver gives way, so that files of it may be gone or torn.
        dropped: rows that leave as those that are derived.

    Raises:
        LakeError: a table cannot be read or written.
    """
    if deduplication is None:
        yield demuxed
        return
    with deduplication.turn(finishes=not is_all):
        files, gone = deduplication.files_in(demuxed), list[Gone]()
        tables = dict.fromkeys(table for table, _ in files)
        origin = origin_of(deduplication.feed)
        given = {table: leaving.get(table, _NOTHING) for table in tables}
        goes = {t: span.rows(origin) for t, span in given.items() if span is not None}
        if len(goes) < len(tables):
            came = {table: written.files for table, written in demuxed.written.items()}
            derived = origins_in(deduplication.context.lake, came, origin)
            derived.add_spans(dropped or {})
            goes = {table: goes.get(table, derived) for table in tables}
        named = deduplication.reader.origins(concatenated([])).column_names
        goes = {table: own_of(rows, named, origin) for table, rows in goes.items()}
        for table in tables:
            its = [file for of, file in files if of == table]
            gone += _Again(deduplication, table, its, goes[table], journal, is_all).gone()
        yield deduplication.without(demuxed, files, gone)[0] if files else demuxed


@dataclass(frozen=True, slots=True)
class _Again:
    """One table's part."""

    deduplication: Deduplication
    table: TableRef
    files: Sequence[DataFile]
    goes: RowSet
    journal: Journal
    may_be_missing: bool

    def gone(self) -> list[Gone]:
        """Which rows of its new files are duplicates."""
        handle = self.deduplication.context.committer.fresh(self.table)
        kinds = self.deduplication.reader.kinds_in(handle)
        found: list[list[Gone]] = [[] for _ in self.files]
        parts = 1 + sum(file.rows for file in self.files) // _ROWS_AT_ONCE
        for part in range(parts):
            new = [
                replace(one, keys=one.keys.part(part, parts))
                for one in self.deduplication.read(
                    [(self.table, f) for f in self.files], {self.table: kinds}
                )
            ]
            stored = (keys.part(part, parts) for keys in self._stored(handle, kinds, new))
            for those, gone in zip(found, self._judged(new, stored), strict=True):
                those.append(gone)
        return [_joined(those) for those in found]

    def _judged(self, new: Sequence[NewFile], stored: Iterator[FileKeys]) -> list[Gone]:
        reader = self.deduplication.reader
        had, stay = Origins(origin_of(self.deduplication.feed)), list[KeyedRows]()
        for keys in stored:
            is_going = self.goes.mask(reader.origins(keys.rows))
            had.add(reader.origins(keys.rows.take(is_going)))
            stay.append(keys.rows.take(~is_going))
        was_there = [had.mask(reader.origins(one.keys.rows)) for one in new]
        return self.deduplication.gone_of(new, concatenated(stay), np.concatenate(was_there))

    def _stored(
        self, handle: DeltaTable, kinds: Mapping[str, pa.DataType], new: Sequence[NewFile]
    ) -> Iterator[FileKeys]:
        """The keys of the table's rows that may be near new ones; then those of a batch cut off."""
        reader, log = self.deduplication.reader, log_of(self.deduplication.context.lake, self.table)
        times = np.concatenate([one.keys.rows.time for one in new])
        if not len(times):
            return
        span = (int(times.min()) - reader.window_us, int(times.max()) + reader.window_us)
        kept = kept_rows(log, handle)
        for file in reader.files_within(handle, [span]):
            try:
                mask = kept.get(log.data_file(file.path))
                yield reader.read(log, self.table, file, kinds, mask)
            except LakeError:
                if not self.may_be_missing:
                    raise
        for file in pending_files(log, self.table, handle, self.journal):
            yield reader.read(log, self.table, file, kinds)


def _joined(parts: Sequence[Gone]) -> Gone:
    return Gone(
        numbers=np.concatenate([one.numbers for one in parts]),
        first=concatenated([one.first for one in parts]),
    )


_NOTHING = Range(ends={})
