"""Commits that are more than an append: through deltalake, or ours where deltalake refuses.

When to commit what, and what to do about a conflict, is `delta.committer`' business; what a table
allows is asked before, by `delta.feature_gate`.
"""

import time
from collections.abc import Sequence

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.schema import Field, Schema
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

from lake_assets.delta import rewrite
from lake_assets.delta.commit import TABLE_ID, Batch, Commit, identity_of
from lake_assets.delta.conflicts import ensure_seen, ensure_there, overtaken
from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store


def write_commit(
    lake: Store,
    handle: DeltaTable,
    commit: Commit,
    replacing: Schema | None,
    batches: Sequence[Batch],
) -> None:
    """Commit files to the table that was opened; what others append meanwhile stays.

    Args:
        lake: where the table is.
        handle: the table, at the version that the commit was made for.
        commit: files that come and go.
        replacing: the columns that the table then has, if the files take the place of all rows.
        batches: the identities that the commit carries, the first of them its own.

    Raises:
        CommitConflictError: another writer changed the table in a way that the commit does not go
            with.
    """
    if commit.removed:
        ensure_there(handle, commit)
    ensure_seen(handle, commit)
    if replacing is not None:
        replacing = rewrite.with_traits(handle, replacing)
    leaving = active_files(handle) if replacing is not None else commit.removed
    # deltalake encodes paths in its own way, and other engines would take them for other files.
    is_encoded = any(file.logged for file in leaving)
    if is_encoded or not features_of(handle).is_writable_by_deltalake:
        rewrite.rewrite(log_of(lake, commit.table), handle, commit, replacing, batches)
        return
    now_ms = int(time.time() * 1000)
    is_change = not commit.is_rearrangement
    adds = [
        AddAction(f.path, f.size, dict(f.partition), now_ms, data_change=is_change, stats=f.stats)
        for f in commit.files
    ]
    gone = [
        RemoveAction(f.path, is_change, now_ms, f.size, dict(f.partition)) for f in commit.removed
    ]
    info = {**commit.info, TABLE_ID: str(handle.metadata().id), **identity_of(batches)}
    marks = [
        Transaction(transaction.app_id, transaction.version)
        for transaction in (*batches, *commit.transactions)
    ]
    try:
        handle.create_write_transaction(
            [*adds, *gone],
            "overwrite" if replacing else "append",
            replacing or handle.schema(),
            partition_by=handle.metadata().partition_columns,
            commit_properties=CommitProperties(
                custom_metadata=info, app_transactions=marks or None
            ),
        )
    except CommitFailedError as problem:
        raise overtaken(commit.table, str(problem)) from problem


def add_columns(log: TableLog, handle: DeltaTable, table: TableRef, columns: Schema) -> None:
    """Add the columns, and fields of structs, that a table lacks; raises as `write_commit`."""
    present = {field.name: field.type for field in handle.schema().fields}
    missing: list[Field] = [f for f in columns.fields if present.get(f.name) != f.type]
    if missing and features_of(handle).is_writable_by_deltalake:
        handle.alter.add_columns(missing)
    elif missing:
        rewrite.add_columns(log, handle, table, columns)
