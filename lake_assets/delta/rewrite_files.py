"""Files of one table that others take the place of, whoever appends to it or joins its files.

What the new ones hold is the caller's to say. Changes of several tables are
`delta.multi_table_change`'s, and files that are joined are `delta.compaction`'s.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import put_unless_changed
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.unused_writes import discard, discarded_if_not_made, discarded_on_failure
from lake_assets.errors import CommitConflictError
from lake_assets.model.tables import TableRef
from lake_assets.parquet.data_file import write_file

_TRIES = 20
"""Tries beside others that rewrite the table's files."""


@dataclass(slots=True)
class Rewrite:
    """One try: which files leave a table, and which take their place."""

    log: TableLog
    removed: list[DataFile] = field(default_factory=list)
    added: list[DataFile] = field(default_factory=list)
    info: dict[str, str] = field(default_factory=dict)
    """What the commit says of itself."""

    def write(self, rows: pa.Table) -> None:
        """Add a file with some rows, of a table that has no partition columns."""
        written = write_file(self.log.store, rows.combine_chunks(), self.log.folder)
        self.added.append(DataFile(**written))  # type: ignore[arg-type]


def rewrite_files(
    committer: Committer, table: TableRef, plan: Callable[[Rewrite], None], *, next_step: str
) -> Rewrite:
    """Put what a plan says into one commit; planned again whenever its files are others by then.

    Args:
        committer: commits.
        table: that is there.
        plan: fills in a try, from the table as it is then; it may be asked for several.
        next_step: what the user is to do if others rewrite the files all the time.

    Returns:
        What was committed; nothing was if no file is to leave and none to come.

    Raises:
        CommitConflictError: others rewrite its files all the time.
        LakeError: the lake cannot be read or written.
        TableFeatureError: a feature of the table forbids it; nothing has happened.
    """
    log = log_of(committer.store, table)
    for _ in range(_TRIES):
        planned = Rewrite(log)
        try:
            with discarded_on_failure(log, planned.added):
                plan(planned)
        except FileNotFoundError:
            continue  # joined and deleted meanwhile
        if not (planned.removed or planned.added):
            return planned
        for file in planned.added:
            # Whatever the settings ask: the files that they stand for will be deleted.
            log.store.sync(log.data_file(file.path))
        commit = Commit(
            table=table, files=planned.added, removed=tuple(planned.removed), info=planned.info
        )
        with discarded_if_not_made(log, planned.added):
            is_put = put_unless_changed(committer, commit)
        if is_put:
            return planned
        discard(log, planned.added)
    raise CommitConflictError(table.name, "its files are rewritten all the time", next_step)
