"""Rows that leave one table for good, in one commit: those that a rule tells.

Changes of several tables are `delta.multi_table_change`'s; rows that leave for their age are
`delta.old_rows`'.
"""

from collections.abc import Mapping

from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import without
from lake_assets.delta.origin_bounds import files_that_may_have
from lake_assets.delta.origins import RowSet
from lake_assets.delta.rewrite_files import Rewrite, rewrite_files
from lake_assets.delta.table_features import Use
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import TableRef


def remove_rows(
    committer: Committer,
    table: TableRef,
    rows: RowSet,
    origin: OriginColumns,
    info: Mapping[str, str],
) -> int:
    """Take rows out of a table, whoever appends to it or joins its files meanwhile.

    Args:
        committer: commits.
        table: that is there.
        rows: which.
        origin: the table's columns that say where a row came from.
        info: what the commit says of itself.

    Returns:
        How many left; nothing is committed if none did.

    Raises:
        CommitConflictError: others rewrite its files all the time.
        LakeError: the lake cannot be read or written.
        TableFeatureError: a feature of the table forbids it; nothing has happened.
    """

    def plan(rewrite: Rewrite) -> None:
        handle = committer.fresh(table)
        committer.ensure_usable([table], Use.REWRITE)
        files = files_that_may_have(handle, rows, origin)
        rewrite.removed, rewrite.added = without(rewrite.log, files, rows)
        rewrite.info = {"lake_assets.rows_removed": str(_gone(rewrite)), **info}

    return _gone(rewrite_files(committer, table, plan, next_step="Do it again later"))


def _gone(rewrite: Rewrite) -> int:
    return sum(file.rows for file in rewrite.removed) - sum(file.rows for file in rewrite.added)
