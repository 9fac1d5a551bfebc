"""Rows that leave one table for good, in one commit: those that a rule tells.

Changes of several tables are `delta.multi_table_change`'s; rows that leave for their age are
`delta.old_rows`'.
"""

from collections.abc import Mapping

from lake_assets.delta.commit import Commit
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import put_unless_changed
from lake_assets.delta.data_files import without
from lake_assets.delta.origin_bounds import files_that_may_have
from lake_assets.delta.origins import RowSet
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import log_of
from lake_assets.delta.unused_writes import discard, discarded_if_not_made
from lake_assets.errors import CommitConflictError
from lake_assets.model.origins import OriginColumns
from lake_assets.model.tables import TableRef

_TRIES = 20
"""Tries beside others that join the table's files."""


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
    log = log_of(committer.store, table)
    for _ in range(_TRIES):
        handle = committer.fresh(table)
        committer.ensure_usable([table], Use.REWRITE)
        try:
            removed, kept = without(log, files_that_may_have(handle, rows, origin), rows)
        except FileNotFoundError:
            continue  # joined and deleted meanwhile
        if not removed:
            return 0
        for file in kept:
            # Whatever the settings ask: the files that they stand for will be deleted.
            log.store.sync(log.data_file(file.path))
        gone = sum(file.rows for file in removed) - sum(file.rows for file in kept)
        told = {"lake_assets.rows_removed": str(gone), **info}
        commit = Commit(table=table, files=kept, removed=tuple(removed), info=told)
        with discarded_if_not_made(log, kept):
            is_put = put_unless_changed(committer, commit)
        if is_put:
            return gone
        discard(log, kept)
    fact = "its files are rewritten all the time"
    raise CommitConflictError(table.name, fact, "Do it again later")
