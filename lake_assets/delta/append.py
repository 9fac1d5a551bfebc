"""A commit as one new file of a Delta log; a blind append is written without reading the log first.

Whoever made a table's last commit knows its version. If the next version's file is still free,
nobody changed the table since, and nothing can conflict; so the file may be put there at once, in
one step that fails if it exists. If it does, the caller looks at the table and decides again.

Through deltalake each commit lists and replays the log three times, and the longer the log the
longer that takes (`docs/decisions/0010-an-append-reads-no-log.md`). Format: the Delta protocol's
"Actions", https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from deltalake import DeltaTable

from lake_assets.delta.commit import BEFORE, ENGINE, TABLE_ID, Batch, Commit, DataFile, identity_of
from lake_assets.delta.conflicts import moved_on, overtaken
from lake_assets.delta.create_table import Blueprint
from lake_assets.delta.known_table import Known, is_last, look, stands
from lake_assets.delta.log_checkpoints import Checkpoints
from lake_assets.delta.table_layout import ensure_laid_out
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.written_columns import WRITTEN_FOR
from lake_assets.model.tables import TableRef
from lake_assets.storage.store import Store

_TRIES = 20
"""Tries of an append whose table others change at the same time: by a new column, or by rows of
another feed. Each is lost to a commit that came between a look and the next version's file."""


class Appends:
    """The appends of one committer, which knows each table as its last one left it. Thread-safe."""

    def __init__(
        self,
        store: Store,
        fresh: Callable[[TableRef], DeltaTable],
        checkpoints: Checkpoints,
        judge: Callable[[DeltaTable, Commit], None],
    ) -> None:
        """Append to tables of a lake.

        Args:
            store: of the lake, whose folder is its root.
            fresh: opens a table of which nothing is known.
            checkpoints: of the tables' logs.
            judge: refuses a commit to a table that was opened.
        """
        self._store = store
        self._judge = judge
        self._fresh = fresh
        self._checkpoints = checkpoints
        self._known: dict[TableRef, Known] = {}

    def created(self, table: TableRef, table_id: str, blueprint: Blueprint) -> None:
        """Remember a table that this process created; none has appended to it."""
        known = Known(
            version=0,
            table_id=table_id,
            last={},
            is_whole=True,
            partition_by=blueprint.partition_by,
            layout=blueprint.layout,
        )
        self._remember(table, known)

    def is_judged(self, table: TableRef, batch: Batch) -> bool:
        """Whether a table is as our last append left it, and asks nothing of new rows."""
        known = self._known.get(table)
        if known is None or known.has_constraints:
            return False
        return is_last(log_of(self._store, table), known, batch)

    def judge(self, commit: Commit, batch: Batch) -> None:
        """Refuse an append that its table does not allow, before any of its batch is committed.

        Raises:
            TableFeatureError: a feature of the table forbids it.
            ConstraintViolatedError: the rows violate a constraint of the table.
        """
        self._known[commit.table] = self._look(commit, batch)

    def add(self, commit: Commit, batch: Batch) -> bool:
        """Append a commit's files.

        Returns:
            False if the table has the batch already.

        Raises:
            CommitConflictError: another writer committed the same batch meanwhile.
            TableFeatureError: the table was changed meanwhile, and a feature of it forbids this.
            ConstraintViolatedError: it was, and the rows violate a constraint of it.
            LakeError: the log cannot be written.
        """
        table, log = commit.table, log_of(self._store, commit.table)
        known = self._known.get(table)
        if known is not None and (known.has(batch) is None or not stands(log, known)):
            known = None
        has_looked = known is not None
        for _ in range(_TRIES):
            if known is None:
                known = self._look(commit, batch)
                if known.has(batch) and has_looked:
                    raise overtaken(table, "the same batch came first")
                has_looked = True
            if known.has(batch):
                return False
            if append(log, known, commit, batch, int(time.time() * 1000)):
                self._remember(table, known.after(batch))
                return True
            known = None
        raise overtaken(table, f"{_TRIES} times in a row")

    def _look(self, commit: Commit, batch: Batch) -> Known:
        handle = self._fresh(commit.table)
        known = look(handle, batch, self._known.get(commit.table))
        if not known.has(batch):
            self._judge(handle, commit)
        return known

    def _remember(self, table: TableRef, known: Known) -> None:
        self._known[table] = known
        self._checkpoints.after(table, known.version)

    def replace_files(self, commit: Commit) -> bool:
        """Put a commit's files in the place of those that it removes, reading no log either.

        Returns:
            False if its maker does not know enough of the table; nothing has happened then.

        Raises:
            CommitConflictError: the table is not at the version that the commit was made for.
            LakeError: the log cannot be written.
        """
        if commit.seen is None or not commit.plain_id:
            return False
        known = Known(
            version=commit.seen,
            table_id=commit.plain_id,
            last={},
            partition_by=commit.plain_partitions,
        )
        log = log_of(self._store, commit.table)
        at_ms = int(time.time() * 1000)
        if not stands(log, known) or not append(log, known, commit, None, at_ms):
            raise moved_on(commit)
        self._checkpoints.after(commit.table, known.version + 1)
        return True


def append(
    log: TableLog,
    known: Known,
    commit: Commit,
    batch: Batch | None,
    at_ms: int,
    further: Sequence[Mapping[str, Any]] = (),
) -> bool:
    """Make a commit the table's next version; False if there is one already, and nothing happens.

    Args:
        log: of the table.
        known: the table as the caller knows it.
        commit: adds files and removes some that the table has in the version that is known.
        batch: the identity it carries, if it has one.
        at_ms: time of the commit, milliseconds since 1970.
        further: actions that go with it.

    Raises:
        LakeError: the log cannot be written, or is not there any more; or the files are laid out
            otherwise than the table.
    """
    ensure_laid_out(commit, known.partition_by, known.layout)
    return log.put(known.version + 1, [*_actions(known, commit, batch, at_ms), *further])


def _actions(known: Known, commit: Commit, batch: Batch | None, at_ms: int) -> list[dict[str, Any]]:
    batches = [batch] if batch else []
    commit_info = {
        "timestamp": at_ms,
        "operation": "WRITE",
        "operationParameters": {
            "mode": "Append",
            "partitionBy": json.dumps(list(known.partition_by)),
        },
        "isBlindAppend": not commit.removed,
        "readVersion": known.version,
        "engineInfo": ENGINE,
        **commit.info,
        TABLE_ID: known.table_id,
        **identity_of(batches),
        **(_before(known, batch) if batch and WRITTEN_FOR in commit.info else {}),
    }
    transactions = [
        {"txn": {"appId": transaction.app_id, "version": transaction.version, "lastUpdated": at_ms}}
        for transaction in (*batches, *commit.transactions)
    ]
    added = [
        {
            "add": {
                "path": _quoted(file),
                "partitionValues": dict(file.partition),
                "size": file.size,
                "modificationTime": at_ms,
                "dataChange": not commit.is_rearrangement,
                "stats": file.stats,
            }
        }
        for file in commit.files
    ]
    removed = [
        {
            "remove": {
                "path": _quoted(file),
                "deletionTimestamp": at_ms,
                "dataChange": not commit.is_rearrangement,
                "extendedFileMetadata": True,
                "partitionValues": dict(file.partition),
                "size": file.size,
            }
        }
        for file in commit.removed
    ]
    return [{"commitInfo": commit_info}, *transactions, *added, *removed]


def _before(known: Known, batch: Batch) -> Mapping[str, str]:
    """What a commit to a table of several streams says of its own stream's last one."""
    is_told = known.is_whole or batch.app_id in known.last
    return {BEFORE: str(known.last.get(batch.app_id) or 0)} if is_told else {}


def _quoted(file: DataFile) -> str:
    return file.logged or quote(file.path, safe="/=:+,@~")
