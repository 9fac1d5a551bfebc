"""The gate before each commit: what a table's features forbid is refused, what they ask is judged.

`delta.table_features` decides; here a table is opened, its deletion vectors are looked at and its
constraints evaluated, by whoever can. A table that nobody changed since our last commit is not
opened for it.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.deletion_vectors import has_deleted_rows
from lake_assets.delta.outgrown_files import ensure_not_outgrown
from lake_assets.delta.table_features import Use, features_of, refused
from lake_assets.delta.table_layout import ensure_laid_out, layout_of
from lake_assets.delta.table_log import log_of
from lake_assets.delta.written_columns import ensure_columns
from lake_assets.errors import TableFeatureError
from lake_assets.storage.store import Store

ConstraintCheck: TypeAlias = Callable[[DeltaTable, Sequence[DataFile], pa.Schema], None]
"""Refuses new files of a table, with the columns it will have, that violate its constraints."""


def ensure_usable(handle: DeltaTable, *uses: Use) -> None:
    """Refuse uses that a table, as it is now, does not allow.

    Raises:
        TableFeatureError: names the table, the feature and what to do.
    """
    features = features_of(handle)
    for use in uses:
        features.ensure(use)
    by_name = {Use.REWRITE} if features.is_writable_by_deltalake else {Use.REWRITE, Use.REPLACE}
    if by_name & set(uses) and has_deleted_rows(handle):
        # Neither deltalake nor we can remove a file by name together with its deletion vector.
        step = f"Run REORG TABLE delta.`{features.name}` APPLY (PURGE) in Spark"
        raise refused(features.name, "deletionVectors", Use.REWRITE, step)


def ensure_committable(
    store: Store,
    handle: DeltaTable,
    commit: Commit,
    check_constraints: ConstraintCheck | None,
    replacing: pa.Schema | None = None,
) -> None:
    """Refuse a commit that the table's features or constraints forbid; nothing has happened then.

    Args:
        store: of the lake.
        handle: the table.
        commit: what it is about to get.
        check_constraints: evaluates constraints; None if this process has no Spark.
        replacing: the table's new columns, where all of its rows are replaced.

    Raises:
        ColumnsChangedError: the table has other columns than its new files were written for.
        TableFeatureError: a feature of the table forbids it.
        ConstraintViolatedError: new rows violate a constraint of the table.
        OutgrownFilesError: the table's columns got wider than those of the files.
        LakeError: a constraint cannot be evaluated, or the files are not laid out as the table is.
    """
    if commit.is_rearrangement:
        ensure_usable(handle, Use.COMPACT)
        return
    if replacing is not None:
        ensure_usable(handle, Use.REPLACE)
    else:
        ensure_laid_out(commit, handle.metadata().partition_columns, layout_of(handle))
        ensure_columns(commit, handle)
        ensure_usable(handle, Use.REWRITE if commit.removed else Use.APPEND)
    columns = pa.schema(handle.schema().to_arrow()) if replacing is None else replacing
    ensure_not_outgrown(log_of(store, commit.table), commit, columns)
    features = features_of(handle)
    if not features.constraints or not commit.files:
        return
    if check_constraints is None:
        table, name = features.name, next(iter(features.constraints))
        fact = f"has the constraint {name!r}, which only a process with Spark can evaluate"
        step = f"Run ALTER TABLE delta.`{table}` DROP CONSTRAINT {name}"
        raise TableFeatureError(table, "checkConstraints", fact, step)
    check_constraints(handle, commit.files, columns)
