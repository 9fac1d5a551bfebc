"""A feed's batch that was cut off between two commits: finished as its journal notes it.

By the feed's own next start (`silver.recovery`, which undoes what cannot be finished), or before by
another feed that fills the same tables and would tell duplicates of rows that may never come.
"""

from collections.abc import Callable

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import APP_ID, ATTEMPT, BATCH, Batch, Commit
from lake_assets.delta.commit_journal import Journal
from lake_assets.delta.data_files import are_whole
from lake_assets.delta.log_history import is_done
from lake_assets.delta.outgrown_files import outgrown_columns
from lake_assets.delta.restores import is_restored
from lake_assets.delta.table_layout import is_laid_out_as
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_owners import owner_of
from lake_assets.delta.written_columns import columns_misfit
from lake_assets.errors import LakeError
from lake_assets.model.reports import BatchReport
from lake_assets.model.tables import Layer, quarantine_of
from lake_assets.silver.batch_notes import replayed
from lake_assets.silver.demux_position import Position, batch_of, position_in, read_position
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.store import Store


def finish_batch(
    feed: str,
    context: LakeContext,
    journal: Journal,
    position: Position,
    report: Callable[[BatchReport], None],
) -> Position | None:
    """Commit the batch after a position from the journal, if the journal has it.

    Args:
        feed: whose batch.
        context: commits it.
        journal: of the feed's batches.
        position: how far the feed is, by its quarantine table.
        report: told of the batch.

    Returns:
        Where the feed is then; None if nothing can be finished.

    Raises:
        LakeError: the lake cannot be read or written.
    """
    noted = _noted(journal)
    if noted is None or noted[0] != batch_of(feed, position.number + 1):
        return None
    batch, commits = noted
    *others, last = commits
    reached = position_in(last.info)
    is_whole = reached is not None and reached.bronze_id == position.bronze_id
    lake = context.lake
    if not is_whole or not all(
        are_whole(log_of(lake, commit.table), commit.files) for commit in commits
    ):
        return None
    handles = context.committer.opened([commit.table for commit in others])
    if not all(_is_of(lake, commit, handles.get(commit.table), batch) for commit in others):
        return None
    context.committer.append(others, batch)
    context.committer.append([last], batch)
    report(replayed(feed, batch, commits, journal.note()))
    return reached


def finish_for_another(
    feed: str, context: LakeContext, journal: Journal, report: Callable[[BatchReport], None]
) -> None:
    """Commit a batch of a feed whose turn it is not, if that was cut off and can be finished.

    What cannot be finished the feed undoes when it starts, and its rows come again; tables that
    were put back it refuses.

    Args:
        feed: whose batch; it commits nothing meanwhile.
        context: commits it.
        journal: of the feed's batches.
        report: told of the batch.

    Raises:
        LakeError: the lake cannot be read or written.
    """
    noted = _noted(journal)
    if noted is None:
        return
    quarantine = quarantine_of(feed)
    handles = context.committer.opened([quarantine])
    if not handles or is_done(handles[quarantine], noted[0]):
        return  # its commit is a batch's last
    position = read_position(handles[quarantine], feed)
    handles |= context.committer.opened([commit.table for commit in noted[1]])
    if position is not None and not any(
        is_restored(log_of(context.lake, t), h.version()) for t, h in handles.items()
    ):
        finish_batch(feed, context, journal, position, report)


def fills_tables_of(owner: str, lake: Store, journal: Journal) -> bool:
    """Whether a journal has a batch with rows for a feed's silver tables.

    Raises:
        LakeError: a table's log cannot be read.
    """
    noted = _noted(journal)
    tables = [commit.table for commit in noted[1] if commit.files] if noted else []
    owners = (owner_of(lake, table) for table in tables if table.layer is Layer.SILVER)
    return any(found is not None and found.feed == owner for found in owners)


def _noted(journal: Journal) -> tuple[Batch, list[Commit]] | None:
    try:
        return journal.last()
    except LakeError:
        return None  # torn: what it was about is undone


def _is_of(lake: Store, commit: Commit, handle: DeltaTable | None, batch: Batch) -> bool:
    """Whether a table can get a journal's rows of a batch, or has those and no other run's."""
    if handle is None:
        return False
    if not is_done(handle, batch):
        log, columns = log_of(lake, commit.table), pa.schema(handle.schema().to_arrow())
        fits = is_laid_out_as(commit, handle) and not columns_misfit(commit, handle)
        return fits and not outgrown_columns(log, commit, columns)
    made = (entry for entry in handle.history() if entry.get(APP_ID) == batch.app_id)
    own = next((entry for entry in made if int(entry[BATCH]) == batch.version), {})
    return own.get(ATTEMPT) == commit.info.get(ATTEMPT)
