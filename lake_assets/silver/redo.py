"""Deriving rows anew: from quarantine (requeue) or from bronze (rebuild), beside the live stream.

Writes new files first and changes tables in one commit each, noted before in a journal, so that a
process that dies on its way is finished and nothing is lost or there twice. Rows that the stream
adds meanwhile stay.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from lake_assets.errors import CommitConflictError
from lake_assets.lake.change import Batch, Commit, DataFile
from lake_assets.lake.commits import CommitDoor
from lake_assets.lake.fanout import Written
from lake_assets.lake.files import active_files, added_after, first_path, read_file, without
from lake_assets.lake.journal import Journal
from lake_assets.lake.origins import COLUMNS, Everything, Origins, RowSet, origin_columns
from lake_assets.lake.scan import Rows
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef, quarantine_of, silver_of, waiting_of
from lake_assets.silver.demux import Demux
from lake_assets.silver.job import Demuxed, Job, failure
from lake_assets.silver.judge import Refused, Scope
from lake_assets.silver.rows import BRONZE_NAMES

_Leaving: TypeAlias = tuple[list[DataFile], list[DataFile]]
"""Files that leave a table, and new ones with what else was in them."""


_ALL = Everything()


@dataclass(frozen=True, kw_only=True, slots=True)
class Redone:
    """What a requeue or a rebuild changed."""

    rows: Mapping[str, int]
    """Rows derived anew, by table."""

    removed: Mapping[str, int]
    """Rows that left each table: what they were before, or where they were before."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Redo:
    """What both ways share."""

    session: SparkSession
    demux: Demux
    journal: Journal
    batch: Batch
    """Identity of this one change; later ones have a greater version."""

    def requeue(self, games: Sequence[str] | None = None) -> Redone:
        """Move quarantined rows that now decode, route and pass to silver; leave the others.

        Args:
            games: those whose rows may move; all by default.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was moved.
            CommitConflictError: another process removed quarantined rows; nothing was moved.
        """
        quarantine = quarantine_of(self.demux.feed.feed)
        files = self._active(quarantine)
        if not files:
            return Redone(rows={}, removed={})
        rows = self._read(quarantine, files, ["value", *BRONZE_NAMES])
        job, demuxed = self.demux.derive(Rows(rows), _scope(games, Refused.NONE))
        self._stop_if_failing([(job, demuxed)])
        moved = self._origins_of(demuxed)
        return self._commit(demuxed, {quarantine: without(self._folder(quarantine), files, moved)})

    def catch_up(self) -> Redone:
        """Derive the rows that wait for the registry, which answers by now.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was moved.
            CommitConflictError: another process removed waiting rows; nothing was moved.
        """
        waiting = waiting_of(self.demux.feed.feed)
        with self.demux.alone:
            files = self._active(waiting)
            rows = self._read(waiting, files, ["value", *BRONZE_NAMES])
            job, demuxed = self.demux.derive(Rows(rows))
            self._stop_if_failing([(job, demuxed)])
            return self._commit(demuxed, {waiting: (files, [])})

    def rebuild(
        self,
        bronze: DataFrame,
        done: Batch,
        games: Sequence[str] | None = None,
        rows: RowSet = _ALL,
    ) -> Redone:
        """Derive silver and quarantine anew from `bronze`, up to where the stream had got.

        Args:
            bronze: all of `rows` that batch `done` of the stream, or one before it, took.
            done: the stream's last finished batch when the rebuild began.
            games: only their tables, and what leaves or enters quarantine thereby; all by default.
            rows: which rows are derived anew; all by default.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was changed.
            CommitConflictError: another process removed rows meanwhile; nothing was changed.
        """
        quarantine = quarantine_of(self.demux.feed.feed)
        given = Rows(bronze.select("value", *BRONZE_NAMES))
        if games is None:
            job, demuxed = self.demux.derive(given)
            self._stop_if_failing([(job, demuxed)])
            tables = [*map(silver_of, job.plan.games), quarantine, *self._aside()]
            return self._commit(demuxed, {t: self._leaving(t, done, rows) for t in tables})
        parts = [
            self.demux.derive(
                Rows(bronze.select("value", *BRONZE_NAMES)), _scope(games, Refused.JUDGED)
            )
        ]
        parts += self._strays(bronze, done, games)
        self._stop_if_failing(parts)
        both = _joined([demuxed for _, demuxed in parts])
        leaving = {silver_of(g): self._leaving(silver_of(g), done, rows) for g in games}
        moved = self._origins_of(both)
        leaving |= {t: self._leaving(t, done, moved) for t in (quarantine, *self._aside())}
        return self._commit(both, leaving)

    def _aside(self) -> list[TableRef]:
        """The table of waiting rows, if there ever were some."""
        waiting = waiting_of(self.demux.feed.feed)
        return [waiting] if self._folder(waiting).exists() else []

    def _strays(
        self, bronze: DataFrame, done: Batch, games: Sequence[str]
    ) -> list[tuple[Job, Demuxed]]:
        """Rows that were some game's and are no longer: to where they belong now."""
        was = [
            self._read(t, files, COLUMNS)
            for t in map(silver_of, games)
            if (files := self._before(t, done))
        ]
        if not was:
            return []
        origins = was[0]
        for more in was[1:]:
            origins = origins.unionByName(more)
        rows = bronze.join(origins, list(COLUMNS), "left_semi").select("value", *BRONZE_NAMES)

        def others(known: tuple[str, ...]) -> Scope:
            return Scope(games=tuple(game not in games for game in known))

        return [self.demux.derive(Rows(rows), others)]

    def _stop_if_failing(self, done: Sequence[tuple[Job, Demuxed]]) -> None:
        for job, demuxed in done:
            violated = job.failures(demuxed)
            if violated:
                for each, left in done:
                    each.discard(left)
                raise failure(violated)

    def _commit(self, demuxed: Demuxed, leaving: Mapping[TableRef, _Leaving]) -> Redone:
        commits = []
        for table in sorted({*demuxed.written, *leaving}):
            removed, kept = leaving.get(table, ([], []))
            new = demuxed.written[table].files if table in demuxed.written else []
            if new or removed:
                rows = sum(file.rows for file in new)
                info = {
                    "rows": str(rows),
                    "lake_assets.rows_removed": str(_rows(removed) - _rows(kept)),
                }
                commits.append(Commit(table=table, files=[*new, *kept], info=info, removed=removed))
        self.journal.write(self.batch, commits)
        finish(self.journal, self.demux.means.door, self.demux.feed)
        return Redone(
            rows={t.name: written.rows for t, written in demuxed.written.items()},
            removed={
                t.name: _rows(gone) - _rows(kept) for t, (gone, kept) in leaving.items() if gone
            },
        )

    def _leaving(self, table: TableRef, done: Batch, rows: RowSet) -> _Leaving:
        return without(self._folder(table), self._before(table, done), rows)

    def _before(self, table: TableRef, done: Batch) -> list[DataFile]:
        """The table's files that the stream did not add after batch `done`."""
        handle = self.demux.means.door.fresh(table)
        later = added_after(handle, done, self._folder(table))
        return [file for file in active_files(handle) if first_path(file.path) not in later]

    def _active(self, table: TableRef) -> list[DataFile]:
        return active_files(self.demux.means.door.fresh(table))

    def _origins_of(self, demuxed: Demuxed) -> Origins:
        found = Origins()
        for table, written in demuxed.written.items():
            for file in written.files:
                path = self._folder(table) / file.path
                found.add(read_file(path, origin_columns(pq.read_schema(path).names)))
        return found

    def _read(
        self, table: TableRef, files: Sequence[DataFile], columns: Sequence[str]
    ) -> DataFrame:
        """Some columns of some files, the origin's under the names that bronze has for them."""
        schema = pa.schema(self.demux.means.door.fresh(table).schema())
        names = dict(zip(origin_columns(schema.names), COLUMNS, strict=True))
        paths = [str(self._folder(table) / file.path) for file in files]
        rows = self.session.read.schema(from_arrow_schema(schema)).parquet(*paths)
        return rows.withColumnsRenamed(names).select(*columns)

    def _folder(self, table: TableRef) -> Path:
        return table.path(self.demux.means.lake)


def finish(journal: Journal, door: CommitDoor, feed: Feed) -> None:
    """Make the commits that the journal has, if any, those that were made already aside.

    What rows are moved from goes first: a row that is in no table for a moment is in bronze all
    the same.

    Raises:
        CommitConflictError: another process removed rows meanwhile.
    """
    noted = journal.last()
    if noted is None:
        return
    batch, commits = noted
    sources = (waiting_of(feed.feed), quarantine_of(feed.feed))
    try:
        for commit in commits:
            if commit.table in sources:
                door.append([commit], batch)
        door.append([c for c in commits if c.table not in sources], batch)
    except CommitConflictError as problem:
        journal.clear()
        raise CommitConflictError(
            problem.thing, problem.fact, "Run the same command again"
        ) from problem
    journal.clear()


def _scope(games: Sequence[str] | None, refused: Refused) -> Callable[[tuple[str, ...]], Scope]:
    def scope(known: tuple[str, ...]) -> Scope:
        chosen = None if games is None else tuple(game in games for game in known)
        return Scope(games=chosen, refused=refused)

    return scope


def _joined(parts: Sequence[Demuxed]) -> Demuxed:
    files: dict[TableRef, list[DataFile]] = {}
    for part in parts:
        for table, written in part.written.items():
            files.setdefault(table, []).extend(written.files)
    return Demuxed(
        written={table: Written(files=found) for table, found in files.items()}, outcomes={}
    )


def _rows(files: Iterable[DataFile]) -> int:
    return sum(file.rows for file in files)
