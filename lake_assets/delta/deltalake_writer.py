"""Commits to an opened table: through deltalake, or ours where it refuses or where files go.

When to commit what, and what to do about a conflict, is `delta.committer`' business; what a table
allows is asked before, by `delta.feature_gate`.
"""

import time
from collections.abc import Sequence
from typing import TypedDict

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from deltalake.schema import Field, Schema
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

from lake_assets.delta import rewrite
from lake_assets.delta.commit import TABLE_ID, Batch, Commit, identity_of
from lake_assets.delta.conflicts import ensure_seen, ensure_there, overtaken
from lake_assets.delta.deletion_vectors import has_deleted_rows
from lake_assets.delta.log_checkpoints import Checkpoints
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_layout import ensure_laid_out, layout_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.tables import TableRef
from lake_assets.storage.guard import guard_of, verify_writer
from lake_assets.storage.store import Store


def write_commit(
    checkpoints: Checkpoints,
    handle: DeltaTable,
    commit: Commit,
    replacing: Schema | None,
    batches: Sequence[Batch],
    partition_by: Sequence[str] | None = None,
) -> None:
    """Commit files to the table that was opened.

    Where no file goes, what others append meanwhile stays. Where some go, nobody may have come
    before: deltalake lets pass a removal of files that a compaction has removed meanwhile, and the
    rows were there twice then (https://github.com/delta-io/delta-rs/pull/3982, tried on 1.6.6).

    Args:
        checkpoints: of the lake that the table is in.
        handle: the table, at the version that the commit was made for.
        commit: files that come and go.
        replacing: the columns that the table then has, if the files take the place of all rows.
        batches: the identities that the commit carries, the first of them its own.
        partition_by: what the table is partitioned by then, if the files take the place of all
            rows; as it is by default.

    Raises:
        CommitConflictError: another writer changed the table in a way that the commit does not go
            with.
        LakeError: the files are not laid out as the table is.
    """
    ensure_seen(handle, commit)
    split_by = handle.metadata().partition_columns if partition_by is None else partition_by
    ensure_laid_out(commit, split_by, layout_of(handle))
    if commit.removed:
        ensure_there(handle, commit)
    if replacing is not None:
        replacing = rewrite.with_traits(handle, replacing)
    if _is_ours(handle, commit, is_replacing=replacing is not None):
        log = log_of(checkpoints.store, commit.table)
        rewrite.rewrite(log, handle, commit, replacing, batches, split_by)
        checkpoints.after(commit.table, handle.version() + 1)
        return
    now_ms = int(time.time() * 1000)
    adds: list[AddAction | RemoveAction] = [
        AddAction(f.path, f.size, dict(f.partition), now_ms, data_change=True, stats=f.stats)
        for f in commit.files
    ]
    info = {**commit.info, TABLE_ID: str(handle.metadata().id), **identity_of(batches)}
    marks = [
        Transaction(transaction.app_id, transaction.version)
        for transaction in (*batches, *commit.transactions)
    ]
    try:
        handle.create_write_transaction(
            adds,
            "overwrite" if replacing else "append",
            replacing or handle.schema(),
            partition_by=list(split_by),
            commit_properties=CommitProperties(
                custom_metadata=info,
                app_transactions=marks or None,
                max_commit_retries=_retries(checkpoints.store),
            ),
        )
    except CommitFailedError as problem:
        verify_writer(checkpoints.store)
        raise overtaken(commit.table, str(problem)) from problem


class CommitOptions(TypedDict, total=False):
    """Arguments that all of deltalake's operations take."""

    commit_properties: CommitProperties


def once(store: Store) -> CommitOptions:
    """What deltalake is told beside, so that it tries a commit once where `_retries` says so."""
    retries = _retries(store)
    return {} if retries is None else {"commit_properties": CommitProperties({}, retries)}


def _retries(store: Store) -> int | None:
    """Retries of a commit: none where whoever came first may be the lake's next writer."""
    return None if guard_of(store) is None else 0


def _is_ours(handle: DeltaTable, commit: Commit, *, is_replacing: bool) -> bool:
    """Whether deltalake is not to make a commit."""
    if commit.removed or not features_of(handle).is_writable_by_deltalake:
        return True
    # Of files with deletion vectors deltalake alone says which they have; nobody joins those.
    return is_replacing and not has_deleted_rows(handle)


def add_columns(log: TableLog, handle: DeltaTable, table: TableRef, columns: Schema) -> None:
    """Add the columns, and fields of structs, that a table lacks; raises as `write_commit`."""
    present = {field.name: field.type for field in handle.schema().fields}
    missing: list[Field] = [f for f in columns.fields if present.get(f.name) != f.type]
    if missing and features_of(handle).is_writable_by_deltalake:
        try:
            handle.alter.add_columns(missing, **once(log.store))
        except CommitFailedError as problem:  # to deltalake whoever alters a table has read it all
            verify_writer(log.store)
            raise overtaken(table, str(problem)) from problem
    elif missing:
        rewrite.add_columns(log, handle, table, columns)
