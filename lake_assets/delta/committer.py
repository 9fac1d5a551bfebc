"""The committer: the one module that changes Delta tables. Spark reads; it never commits.

Each commit of a micro-batch carries `(app_id, version)`, so a batch that runs again is skipped
table by table. deltalake accepts an older version without complaint, so the check is made here.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from uuid import uuid4

import pyarrow as pa
from deltalake import DeltaTable

from lake_assets.delta.append import Appends
from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.conflicts import again_on_conflict, ensure_seen, lake_errors
from lake_assets.delta.create_table import as_delta, blueprints_of, create_table
from lake_assets.delta.deltalake_writer import add_columns, once, write_commit
from lake_assets.delta.feature_gate import ConstraintCheck, ensure_committable, ensure_usable
from lake_assets.delta.log_checkpoints import Checkpoints
from lake_assets.delta.log_history import is_done
from lake_assets.delta.open_tables import Handles
from lake_assets.delta.restores import RestoreGuard
from lake_assets.delta.table_features import Use
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_owners import claim
from lake_assets.delta.table_pool import TablePool
from lake_assets.errors import CommitConflictError
from lake_assets.model.owners import Owner
from lake_assets.model.tables import TableRef
from lake_assets.storage.guard import verify_writer
from lake_assets.storage.store import Store

_TRIES = 5
"""Tries of a commit whose table another process changed meanwhile."""


class Committer:
    """Creates, widens, appends to and replaces the Delta tables below one folder.

    Thread-safe; two processes may each have a committer on the same lake.
    """

    def __init__(
        self, store: Store, *, threads: int, check_constraints: ConstraintCheck | None = None
    ) -> None:
        """Open the committer on the lake that is its store's root, for `threads` tables at once.

        Tables with constraints are refused where nothing can evaluate them.
        """
        self._check_constraints, self._threads = check_constraints, threads
        self.store, self._once = store, once(store)
        self._handles = Handles(store)
        self._checkpoints = Checkpoints(store)
        self._pool = TablePool(store, threads, before=self._checkpoints.ensure_none_failed)
        self._each = self._pool.each
        self._restores = RestoreGuard(store)
        self._judged: dict[TableRef, Batch] = {}
        self._appends = Appends(store, self._unrestored, self._checkpoints, self._judge)

    def close(self) -> None:
        """Wait for commits and log checkpoints under way, and release the threads.

        Raises:
            LakeError: a log checkpoint could not be written.
        """
        self._pool.close()
        with lake_errors(self.store.root):
            self._checkpoints.close()

    def independent(self) -> "Committer":
        """Another one on the lake: what this one has opened moves on when it is opened again."""
        check = self._check_constraints
        return Committer(self.store, threads=self._threads, check_constraints=check)

    def flush(self) -> None:
        """Make what was written to the lake so far outlive what its store's settings say.

        Each call that commits files does so first: a log never names a file that the disk may not
        have. What the call commits itself the next flush makes durable. Raises as `Store`.
        """
        self.store.flush()

    def settle(self) -> None:
        """Wait for log checkpoints under way; raises as `close`."""
        with lake_errors(self.store.root):
            self._checkpoints.settle()

    def create(
        self,
        tables: Mapping[TableRef, pa.Schema],
        *,
        partition_by: Mapping[TableRef, Sequence[str]] | None = None,
        properties: Mapping[str, str] | None = None,
        owners: Mapping[TableRef, Owner] | None = None,
    ) -> set[TableRef]:
        """Create the tables that are not there yet, empty; others are left as they are.

        Args:
            tables: their columns.
            partition_by: of tables among them, columns of theirs.
            properties: further table properties.
            owners: of tables among them; one that is there and records none becomes its owner's.

        Returns:
            The tables that were created.

        Raises:
            LakeError: the folder cannot be written, or a table is there and another owner's.
        """
        blueprints = blueprints_of(tables, partition_by or {}, properties or {})

        def create_one(table: TableRef) -> TableRef | None:
            owner = owners.get(table) if owners else None
            blueprint = blueprints[table].owned(table, owner)
            log, table_id = log_of(self.store, table), str(uuid4())
            if not create_table(log, table.name, blueprint, table_id):
                if owner is not None:
                    claim(self.store, table, owner)
                return None
            if blueprint.is_plain:
                self._appends.created(table, table_id, blueprint)
            return table

        made = {table for table in self._each(create_one, list(tables)) if table is not None}
        if made:
            verify_writer(self.store)  # whoever has taken us for dead has fenced them, or will
        return made

    def columns(self, tables: Iterable[TableRef]) -> dict[TableRef, pa.Schema]:
        """The columns of each of the tables that is there."""
        return {t: pa.schema(h.schema().to_arrow()) for t, h in self.opened(list(tables)).items()}

    def add_columns(self, tables: Mapping[TableRef, pa.Schema]) -> None:
        """Add the columns, and fields of structs, of each schema that its table lacks.

        No file changes: readers find null in the files of before. A repeated call changes nothing.

        Raises:
            CommitConflictError: others keep rewriting a table.
            LakeError: a column has another type; `delta.widen` makes types wider.
        """

        @again_on_conflict(_TRIES)
        def widen(table: TableRef) -> None:
            ensure_usable(handle := self._unrestored(table), Use.ALTER)
            add_columns(log_of(self.store, table), handle, table, as_delta(tables[table]))

        self._each(widen, list(tables))

    def append(self, commits: Sequence[Commit], batch: Batch) -> list[TableRef]:
        """Commit a batch's files to their tables, each table at most once for this batch.

        A commit may remove files in the same step; what others append meanwhile stays. All are
        judged first, unless they just were.

        Returns:
            The tables that had the batch already, from a run that died on its way.

        Raises:
            CommitConflictError: another writer committed the same batch meanwhile, or removed a
                file that this commit removes.
            LakeError: a table was restored since our last commit to it.
            TableFeatureError, ConstraintViolatedError, OutgrownFilesError: as `judge`.
        """

        def append_one(commit: Commit) -> TableRef | None:
            take = self._append_or_replace if commit.removed else self._appends.add
            return None if take(commit, batch) else commit.table

        if [c for c in commits if self._judged.pop(c.table, None) != batch]:
            self.judge(commits, batch)
        self.flush()
        return [table for table in self._each(append_one, list(commits)) if table is not None]

    def judge(self, commits: Sequence[Commit], batch: Batch) -> None:
        """Refuse commits that their tables do not allow; raises as `delta.feature_gate`."""

        def judge_one(commit: Commit) -> None:
            if not commit.removed:
                self._appends.judge(commit, batch)
            elif not is_done(handle := self._unrestored(commit.table), batch):
                self._judge(handle, commit)

        def is_sure(commit: Commit) -> bool:
            return not commit.removed and self._appends.is_judged(commit.table, batch)

        sure = self._pool.look_at_each(is_sure, commits)
        self._each(judge_one, [c for c, known in zip(commits, sure, strict=True) if not known])
        self._judged |= {commit.table: batch for commit in commits if not commit.removed}

    def _judge(self, handle: DeltaTable, commit: Commit, columns: pa.Schema | None = None) -> None:
        ensure_seen(handle, commit)  # else it is judged by a table that it was not made for
        ensure_committable(self.store, handle, commit, self._check_constraints, columns)

    def ensure_usable(self, tables: Sequence[TableRef], *uses: Use) -> None:
        """Refuse tables whose features forbid these uses; raises as `delta.feature_gate`."""
        for handle in self.opened(tables).values():
            ensure_usable(handle, *uses)

    def _open_to(self, table: TableRef, use: Use) -> DeltaTable:
        ensure_usable(handle := self.fresh(table), use)
        return handle

    def _append_or_replace(self, commit: Commit, batch: Batch) -> bool:
        """Append files, and remove others, at one version; else as `Appends.add`."""
        for tries_left in reversed(range(_TRIES)):
            # The same handle for the look and the commit: what happens in between is noticed.
            handle = self._unrestored(commit.table)
            if is_done(handle, batch):
                return False
            try:
                write_commit(self._checkpoints, handle, commit, None, [batch])
            except CommitConflictError:
                if not tries_left or is_done(self.fresh(commit.table), batch):
                    raise
            else:
                break
        return True

    def append_marked(self, commit: Commit, marks: Sequence[Batch]) -> None:
        """Commit files that stand for several batches, which the caller knows not to be there yet.

        Raises:
            CommitConflictError: another writer committed one of them meanwhile.
        """
        self._judge(self.fresh(commit.table), commit)
        self.flush()
        handle = self.fresh(commit.table)
        self._each(lambda one: write_commit(self._checkpoints, handle, one, None, marks), [commit])

    def compact(self, table: TableRef) -> None:
        """Join a table's small files; its rows stay what they are."""
        self._each(lambda t: self._open_to(t, Use.COMPACT).optimize.compact(**self._once), [table])

    def delete(self, table: TableRef, predicate: str) -> None:
        """Delete the rows that meet an SQL condition."""
        self._each(lambda t: self._open_to(t, Use.REWRITE).delete(predicate, **self._once), [table])

    def vacuum(self, table: TableRef) -> None:
        """Delete the files that no version needs which the table's properties want kept."""
        vacuum = partial(DeltaTable.vacuum, dry_run=False, **self._once)
        self._each(lambda t: vacuum(self._open_to(t, Use.COMPACT)), [table])

    def replace(
        self, commits: Sequence[Commit], schema: pa.Schema, by: Sequence[str] | None = None
    ) -> None:
        """Put each commit's files in the place of all its table's rows, in one step for readers.

        The tables' columns become `schema`'s in the same step, and what they are partitioned by
        `by`, if it is given. Files that another process appends during this step stay.

        Raises:
            CommitConflictError: a table is not at the version that its commit was made for.
            TableFeatureError, ConstraintViolatedError: as `judge`; no table is changed.
        """

        def judge_one(commit: Commit) -> DeltaTable:
            self._judge(handle := self._unrestored(commit.table), commit, schema)
            return handle

        handles, columns = self._each(judge_one, list(commits)), as_delta(schema)
        self.flush()
        pairs = list(zip(handles, commits, strict=True))
        self._each(lambda one: write_commit(self._checkpoints, *one, columns, (), by), pairs)

    def replace_files(self, commits: Sequence[Commit]) -> None:
        """Put each commit's files in the place of those it removes, in one step; as `replace`."""

        def replace_one(commit: Commit) -> None:
            if not self._appends.replace_files(commit):
                write_commit(self._checkpoints, self._unrestored(commit.table), commit, None, ())

        unsure = [commit for commit in commits if not commit.plain_id]
        self._each(lambda one: self._judge(self.fresh(one.table), one), unsure)
        self.flush()
        self._each(replace_one, list(commits))

    def opened(self, tables: Sequence[TableRef]) -> dict[TableRef, DeltaTable]:
        """The handles of those of the tables that are there, each at its newest version."""
        pairs = zip(tables, self._each(self._handles.find, tables), strict=True)
        return {table: handle for table, handle in pairs if handle is not None}

    def accept_restores(self, handles: Mapping[TableRef, DeltaTable]) -> None:
        """Let tables be appended to that were restored: the caller goes by what they hold now."""
        self._restores.accept({table: handle.version() for table, handle in handles.items()})

    def _unrestored(self, table: TableRef) -> DeltaTable:
        self._restores.ensure_unrestored(table, (handle := self.fresh(table)).version())
        return handle

    def fresh(self, table: TableRef) -> DeltaTable:
        """The table's handle at its newest version; raises as `Handles.fresh`."""
        return self._handles.fresh(table)
