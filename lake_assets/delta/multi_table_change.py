"""A change of several tables that is made whole: rows leave some and come to others.

What is to be done is noted before the first commit (`delta.change_journal`), as a rule and not as
files to remove: which rows leave each table, and which new files come. So whoever finishes a change
that was cut off applies it to the tables as they are by then, whoever compacted or appended to them
meanwhile; not where a table got another layout, by which its new rows would have to be split. Each
table has its part in one commit, under the change's number, so no part is applied twice.
"""

from collections.abc import Mapping, Sequence

from deltalake import DeltaTable

from lake_assets.delta.change_journal import ChangeJournal, TableChange, TablesChange
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.conflicts import again_on_conflict
from lake_assets.delta.data_files import are_whole, without
from lake_assets.delta.log_history import is_done
from lake_assets.delta.origin_bounds import files_that_may_have
from lake_assets.delta.origins import RowSet, columns_in, own_of
from lake_assets.delta.restores import is_restored
from lake_assets.delta.table_layout import is_laid_out_as
from lake_assets.delta.table_log import log_of
from lake_assets.delta.transaction_numbers import checksum_record, numbers_of
from lake_assets.delta.written_columns import columns_misfit
from lake_assets.errors import LakeError
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store

_TRIES = 5
"""Tries of a table's commit while others rewrite its files, as a compaction does."""


def finish(journal: ChangeJournal, committer: Committer) -> dict[TableRef, int]:
    """Commit what is noted and not committed yet, and forget it.

    Returns:
        By table of those that were committed now, how many rows left it.

    Raises:
        CommitConflictError: others keep rewriting a table; the change stays noted.
        LakeError: the lake cannot be written; or new files are gone, and some tables have their
            part already.
    """
    change = journal.read()
    if change is None:
        return {}
    _ensure_newest(journal, change, committer)
    handles = committer.opened([part.table for part in change.tables])
    _ensure_named(journal, handles)
    done = [
        part
        for part in change.tables
        if part.table in handles and is_done(handles[part.table], change.batch)
    ]
    left = [part for part in change.tables if part not in done]
    lake = committer.store
    if change.tables[-1] in done:
        journal.clear()  # the last part makes it whole
        return {}
    if not all(_can_come(part, handles, lake) for part in left):
        if done:
            raise _cut_off(journal)
        journal.clear()  # nothing of it happened, and nothing can
        return {}
    try:
        moved = change.moved(lake)
    except FileNotFoundError as problem:
        # A table that has its part was rewritten and vacuumed since.
        raise _cut_off(journal) from problem
    removed = {part.table: _apply(part, change, moved, committer) for part in change.tables}
    committer.flush()
    journal.clear()
    return {table: count for table, count in removed.items() if count is not None}


@again_on_conflict(_TRIES)
def _apply(
    one: TableChange, change: TablesChange, moved: RowSet, committer: Committer
) -> int | None:
    """Commit one table's part; rows that left it, or None if it has the part already."""
    handle, log = committer.fresh(one.table), log_of(committer.store, one.table)
    if is_done(handle, change.batch):
        return None
    leaving = moved if one.leaving is None else one.leaving.rows(change.origin)
    # What others that fill the table have in it is no part of the change.
    leaving = own_of(leaving, [column.name for column in handle.schema().fields], change.origin)
    is_all = one.leaving is not None and one.leaving.is_all
    if not is_all and is_restored(log, handle.version()):
        raise LakeError(
            one.table.name,
            "was put back to an older version (RESTORE) while a change of it was under way",
            "Run `lake-assets rebuild silver`, which derives silver from bronze again",
        )
    # Its own new files may be in the table's folder, and are in no version of it.
    files = files_that_may_have(handle, leaving, change.origin)
    removed, kept = without(log, files, leaving, may_be_missing=is_all)
    gone = _rows(removed) - _rows(kept)
    is_last = one is change.tables[-1]
    if not (one.files or removed or is_last or one.leaving is not None):
        return 0
    further = [_checksum(change, committer)] if is_last else []
    commit = Commit(
        table=one.table,
        files=[*one.files, *kept],
        removed=removed,
        info={
            "rows": str(_rows(one.files)),
            "lake_assets.rows_removed": str(gone),
            **one.info,
        },
        transactions=[*one.transactions, *further],
    )
    committer.append([commit], change.batch)
    return gone


def _can_come(part: TableChange, handles: Mapping[TableRef, DeltaTable], lake: Store) -> bool:
    """Whether a part's new files are there, and its table as it was when they were written."""
    if part.table not in handles or not are_whole(log_of(lake, part.table), part.files):
        return False
    came = Commit(table=part.table, files=part.files, info=part.info)
    handle = handles[part.table]
    return is_laid_out_as(came, handle) and not columns_misfit(came, handle)


def _ensure_newest(journal: ChangeJournal, change: TablesChange, committer: Committer) -> None:
    """Make sure that no table has had a later change: then the journal is one of an old copy."""
    app_id, number = change.batch.app_id, change.batch.version
    numbers = numbers_of(app_id, committer.opened(change.companions))
    later = [table.name for table, newest in numbers.items() if newest > number]
    if later:
        raise LakeError(
            str(journal.file),
            f"is of change {number}, and {later[0]} has had a later one: this table was put back "
            "alone",
            "Put all tables of one backup back, or run `lake-assets rebuild silver`, which derives "
            "them from bronze again",
        )


def _ensure_named(journal: ChangeJournal, handles: Mapping[TableRef, DeltaTable]) -> None:
    """Make sure that tables name rows as the feed does, whose `into` or source may have changed."""
    for table, handle in handles.items():
        names = {column.name for column in handle.schema().fields}
        if not {*columns_in(names, journal.origin).identity} <= names:
            raise LakeError(
                str(journal.file),
                f"is of a change that was cut off, and {table.name} names rows otherwise than the "
                "feed does now, by its `into` and its `source`",
                "Put these back, or run `lake-assets rebuild silver`, which derives silver from "
                "bronze again",
            )


def _checksum(change: TablesChange, committer: Committer) -> Batch:
    """What the last part records of the others, all of which have their parts."""
    app_id = change.batch.app_id
    return checksum_record(app_id, numbers_of(app_id, committer.opened(change.companions)))


def _cut_off(journal: ChangeJournal) -> LakeError:
    return LakeError(
        str(journal.file),
        "is of a change that was cut off half done, and names tables or files that are gone, or "
        "tables that got another layout since",
        "Run `lake-assets rebuild silver`, which derives silver from bronze again",
    )


def _rows(files: Sequence[DataFile]) -> int:
    return sum(file.rows for file in files)
