"""Duplicates among rows that are derived again: by a requeue, a rebuild, or catching up.

Rows that silver had before come first, so a rebuild leaves what was there; what stays of silver
stays. Nothing is cached: such a change reads the keys of its tables once.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import DataFile
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.data_files import are_whole
from lake_assets.delta.deletion_vectors import kept_rows
from lake_assets.delta.log_history import is_done
from lake_assets.delta.offset_range import Range
from lake_assets.delta.origins import Origins, RowSet
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef
from lake_assets.silver.deduplicate import Deduplication, NewFile, by_table
from lake_assets.silver.demux_job import Demuxed
from lake_assets.silver.key_hashes import Mask
from lake_assets.silver.keyed_rows import KeyedRows, concatenated
from lake_assets.silver.stored_keys import FileKeys


@contextmanager
def unique_again(
    deduplication: Deduplication | None,
    demuxed: Demuxed,
    leaving: Mapping[TableRef, Range | None],
    journal: Journal,
    *,
    is_all: bool,
) -> Iterator[Demuxed]:
    """What was derived again, without duplicates; to be committed within the block.

    Args:
        deduplication: of the feed; None if it does not deduplicate.
        demuxed: what was derived; its files stay where this fails.
        leaving: by table, which rows give way to it; None are those that are derived.
        journal: of the feed's batches, one of which may wait to be finished.
        is_all: whether all of silver gives way, so that files of it may be gone or torn.

    Raises:
        LakeError: a table cannot be read or written.
    """
    if deduplication is None:
        yield demuxed
        return
    with deduplication.turn():
        yield _unique(deduplication, demuxed, leaving, journal, is_all)


def _unique(
    deduplication: Deduplication,
    demuxed: Demuxed,
    leaving: Mapping[TableRef, Range | None],
    journal: Journal,
    may_be_missing: bool,  # noqa: FBT001 - as `is_all`
) -> Demuxed:
    tables = deduplication.silver_in(demuxed)
    if not tables:
        return demuxed
    handles = {table: deduplication.context.committer.fresh(table) for table in tables}
    kinds = {table: deduplication.reader.kinds_in(handle) for table, handle in handles.items()}
    new = deduplication.read(demuxed, kinds)
    origin = deduplication.feed.source.origin
    derived = Origins(origin)
    for one in new:
        derived.add(one.keys.origins)
    times = by_table(new)
    stay: list[KeyedRows] = []
    had: dict[TableRef, Origins] = {}
    for table, handle in handles.items():
        given = leaving.get(table, Range(ends={}))
        goes: RowSet = derived if given is None else given.rows(origin)
        had[table] = Origins(origin)
        stored = _stored(deduplication, table, handle, kinds[table], times[table], may_be_missing)
        for keys in stored:
            is_going = goes.mask(keys.origins)
            had[table].add(keys.origins.filter(pa.array(is_going)))
            stay.append(keys.rows.take(~is_going))
        log = log_of(deduplication.context.lake, table)
        stay += [
            deduplication.reader.read(log, table, file, kinds[table]).rows
            for file in _pending(journal, table, handle, log)
        ]
    unique, _ = deduplication.without(demuxed, new, concatenated(stay), _was_there(new, had))
    return unique


def _was_there(new: Sequence[NewFile], had: Mapping[TableRef, Origins]) -> Mask:
    """Which of the new files' rows their table had before."""
    masks = [had[one.table].mask(one.keys.origins) for one in new]
    return np.concatenate(masks) if masks else np.zeros(0, np.bool_)


def _stored(
    deduplication: Deduplication,
    table: TableRef,
    handle: DeltaTable,
    kinds: Mapping[str, pa.DataType],
    new: KeyedRows,
    may_be_missing: bool,  # noqa: FBT001 - as its caller has it
) -> Iterator[FileKeys]:
    """The keys of a table's rows that may be near new ones."""
    if not len(new):
        return
    reader, log = deduplication.reader, log_of(deduplication.context.lake, table)
    first, last = int(new.time.min()), int(new.time.max())
    kept = kept_rows(handle)
    for file in reader.files_within(handle, first - reader.window_us, last + reader.window_us):
        try:
            yield reader.read(log, table, file, kinds, kept.get(log.data_file(file.path)))
        except LakeError:
            if not may_be_missing:
                raise


def _pending(
    journal: Journal, table: TableRef, handle: DeltaTable, log: TableLog
) -> Sequence[DataFile]:
    """Files of a batch that was cut off before this table had them; the next start adds them."""
    with suppress(LakeError):  # torn: then the batch is undone and comes again
        noted = journal.last()
        if noted is not None and not is_done(handle, noted[0]):
            files = [file for one in noted[1] if one.table == table for file in one.files]
            return files if are_whole(log, files) else []  # else it is undone, too
    return []
