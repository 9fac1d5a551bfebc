"""Deriving rows again: from quarantine (requeue) or from bronze (rebuild), beside the live stream.

Writes new files first and changes tables in one commit each (`delta.multi_table_change`). Rows that
the stream adds meanwhile stay: what is derived again are rows below the offsets that demux had
reached.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.delta.change_journal import ChangeJournal, TableChange
from lake_assets.delta.commit import DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.offset_range import NOTHING, Range
from lake_assets.delta.source_offsets import offsets_of_rows
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.model.flows import origin_of
from lake_assets.model.origins import OriginColumns, Spans
from lake_assets.model.quarantine import Reason
from lake_assets.model.tables import (
    TableRef,
    erased_of,
    quarantine_of,
    waiting_of,
)
from lake_assets.silver.deduplicate_again import unique_again
from lake_assets.silver.demux import Demux
from lake_assets.silver.demux_job import Job
from lake_assets.silver.demuxed import Demuxed, failure, joined
from lake_assets.silver.layouts import split_of
from lake_assets.silver.noted_change import change_tables, silver_tables, tables_aside
from lake_assets.silver.own_rows import own_rows
from lake_assets.silver.redone import Redone
from lake_assets.silver.rows import HEADERS, demux_names
from lake_assets.silver.rows_had import RowsHad
from lake_assets.silver.scopes import Refused, Scope
from lake_assets.silver.set_aside import set_aside
from lake_assets.spark.fan_out import Written
from lake_assets.spark.scan import Rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Bronze:
    """The rows of bronze that a rebuild derives again."""

    rows: DataFrame
    """The columns `silver.rows.demux_names` and any others."""

    range: Range
    """Their offsets; rows of silver that have such ones give way to what is derived."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Redo:
    """What all ways share."""

    session: SparkSession
    demux: Demux
    journal: ChangeJournal

    def requeue(self, keys: Sequence[str] | None = None, *, with_skipped: bool = False) -> Redone:
        """Move quarantined rows that now decode, route and pass to silver; leave the others.

        Args:
            keys: those whose rows may move; all by default.
            with_skipped: also rows of batches that were skipped, which may fail again as a whole.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was moved.
            CommitConflictError: others keep rewriting a table; the next start finishes it.
        """
        files = self.files_in(self._quarantine)
        if not files:
            return Redone(rows={}, removed={})
        rows = self.rows_in(self._quarantine, files)
        reason = F.coalesce("reason", F.lit(""))
        rows = rows.where(reason != Reason.BAD_FILE.value)  # they have nothing to decode
        if not with_skipped:
            rows = rows.where(reason != Reason.SKIPPED.value)
        job, demuxed = self.demux.derive(self.given(rows), _scope(keys, Refused.NONE))
        if keys is not None:
            job.ensure_undivided(demuxed)
        self._stop_if_failing([(job, demuxed)])
        return self._change(demuxed, {})

    def catch_up(self, *, skip_failing: bool = False, skip_all: str = "") -> Redone:
        """Derive the rows that wait for the registry, which answers by now.

        Args:
            skip_failing: put those aside, as skipped, that violate an expectation that fails.
            skip_all: put all aside as they are, undecoded, and say this of them.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was moved.
            CommitConflictError: others keep rewriting a table; the next start finishes it.
        """
        waiting = waiting_of(self.demux.feed.feed)
        with self.demux.alone:
            files = self.files_in(waiting)
            if skip_all:
                context, feed = self.demux.context, self.demux.feed
                left = set_aside(context, feed, files, None, skip_all, waiting)
                written = {self._quarantine: Written(files=left)} if left else {}
                demuxed = Demuxed(written=written, outcomes={})
            else:
                rows = self.given(self.rows_in(waiting, files))
                job, demuxed = self.demux.derive(rows, skip_failing=skip_failing)
                self._stop_if_failing([(job, demuxed)])
            # Some may have been dropped, so all that were read leave, and not those that came in.
            read = Range(ends=offsets_of_rows(self._log(waiting), files, self._origin))
            return self._change(demuxed, {waiting: read})

    def rebuild(
        self,
        bronze: Bronze,
        keys: Sequence[str] | None = None,
        record: Callable[[], TableChange] | None = None,
    ) -> Redone:
        """Derive silver and quarantine again from bronze.

        Args:
            bronze: which rows; the stream has taken all of them.
            keys: only their tables, and what leaves or enters quarantine thereby; all by default.
            record: what else the quarantine table's commit, the last, is to record.

        Raises:
            ExpectationFailedError: rows violate an expectation that fails; nothing was changed.
            CommitConflictError: others keep rewriting a table; the next start finishes it.
        """
        # Where rows were that are erased stays known, also of those that bronze has no more.
        aside = {*self._aside()} - {erased_of(self.demux.feed.feed)}
        if keys is None:
            job, demuxed = self.demux.derive(self.given(bronze.rows))
            self._stop_if_failing([(job, demuxed)])
            derived = map(self.demux.feed.silver_table, job.plan.keys)
            tables = {*derived, *self._silver(), *aside}
            leaving = dict.fromkeys((*tables, self._quarantine), bronze.range)
            return _told(self._change(demuxed, leaving, record), bronze)
        given = self.given(bronze.rows)
        parts = [self.demux.derive(given, _scope(keys, Refused.JUDGED))]
        parts[0][0].ensure_undivided(parts[0][1])
        chosen = {self.demux.feed.silver_table(key): bronze.range for key in keys}
        had = RowsHad.of(self.demux.context, self._origin, chosen)
        parts += self._strays(bronze, keys, had)
        self._stop_if_failing(parts)
        both = joined([demuxed for _, demuxed in parts])
        # Rows that come to these keys may have been others' before.
        others = {table: None for table in self._silver() if table not in chosen}
        beside = [*others, *aside, self._quarantine]
        dropped = had.dropped(both, bronze.range, beside)
        return _told(self._change(both, {**chosen, **others}, record, dropped), bronze)

    @property
    def _origin(self) -> OriginColumns:
        return origin_of(self.demux.feed)

    def given(self, rows: DataFrame) -> Rows:
        """Rows as demux reads them; headers as text, in which they come to Python quickly."""
        # Quarantine has no keys, and no headers before they were the feed's to keep.
        names = [n for n in demux_names(self.demux.feed) if n in {*rows.columns, HEADERS}]
        if HEADERS in names:
            has = HEADERS in rows.columns
            text = F.to_json(HEADERS) if has else F.lit(None).cast("string")
            rows = rows.withColumn(HEADERS, text)
        return Rows(rows.select(*names))

    @property
    def _quarantine(self) -> TableRef:
        return quarantine_of(self.demux.feed.feed)

    def _silver(self) -> list[TableRef]:
        return silver_tables(self.demux.context.lake, self.demux.feed)

    def _aside(self) -> list[TableRef]:
        return tables_aside(self.demux.context.lake, self.demux.feed)

    def _strays(
        self, bronze: Bronze, keys: Sequence[str], had: RowsHad
    ) -> list[tuple[Job, Demuxed]]:
        """Rows that were some key's and are no longer: to where they belong now."""
        origins = had.identities(self.session)
        if origins is None:
            return []
        rows = bronze.rows.join(origins, list(self._origin.identity), "left_semi")

        def others(known: tuple[str, ...]) -> Scope:
            # Those that are one of the keys' as well were derived with them.
            return Scope(keys=tuple(key not in keys for key in known), is_any=False)

        return [self.demux.derive(self.given(rows), others)]

    def _stop_if_failing(self, done: Sequence[tuple[Job, Demuxed]]) -> None:
        for job, demuxed in done:
            violated = job.failures(demuxed)
            if violated:
                for each, left in done:
                    each.discard(left)
                raise failure(violated)

    def _change(
        self,
        demuxed: Demuxed,
        leaving: Mapping[TableRef, Range | None],
        record: Callable[[], TableChange] | None = None,
        dropped: Spans | None = None,
    ) -> Redone:
        """Commit what was derived; the quarantine's part comes last and makes the change whole.

        Args:
            demuxed: what was derived.
            leaving: by table, which rows leave it; None are those that are derived, wherever they
                go. They leave quarantine and the waiting rows anyway.
            record: what else the last part records.
            dropped: rows that leave as those that are derived, though they are not.
        """
        redo, dropped = (self.demux.duplicates, demuxed, leaving, self.demux.journal), dropped or {}
        with unique_again(*redo, is_all=record is not None, dropped=dropped) as unique:
            return self._commit(unique, leaving, record, dropped)

    def _commit(
        self,
        demuxed: Demuxed,
        leaving: Mapping[TableRef, Range | None],
        record: Callable[[], TableChange] | None,
        dropped: Spans,
    ) -> Redone:
        aside = [*self._aside(), self._quarantine]
        touched = {*demuxed.written, *leaving}
        order = [*sorted(touched - {*aside}), *aside]
        last = record() if record else TableChange(table=self._quarantine)
        came = {table: written.files for table, written in demuxed.written.items() if written.files}
        split = {table: split_of(self.demux.feed, table, demuxed.columns) for table in came}
        parts = [
            TableChange(
                table=table,
                files=came.get(table, ()),
                leaving=leaving.get(table, None if table in aside else NOTHING),
                info=last.info if table == last.table else split.get(table, {}),
                transactions=last.transactions if table == last.table else (),
            )
            for table in order
        ]
        demux = self.demux
        changed = change_tables(demux.context, self.journal, demux.feed, parts, dropped)
        return Redone(
            number=changed.number,
            rows={t.name: written.rows for t, written in demuxed.written.items()},
            duplicates=demuxed.duplicates,
            removed={table.name: count for table, count in changed.removed.items() if count},
        )

    def files_in(self, table: TableRef) -> list[DataFile]:
        """Those of a table's newest version."""
        return active_files(self.demux.context.committer.fresh(table))

    def rows_in(self, table: TableRef, files: Sequence[DataFile]) -> DataFrame:
        """The feed's own rows of some files, the origin's columns under bronze's names."""
        schema = pa.schema(self.demux.context.committer.fresh(table).schema())
        return own_rows(self.session, self._log(table), schema, files, self._origin)

    def _log(self, table: TableRef) -> TableLog:
        return log_of(self.demux.context.lake, table)


def _told(done: Redone, bronze: Bronze) -> Redone:
    return replace(done, retained=bronze.range.retained or {})


def _scope(keys: Sequence[str] | None, refused: Refused) -> Callable[[tuple[str, ...]], Scope]:
    def scope(known: tuple[str, ...]) -> Scope:
        chosen = None if keys is None else tuple(key in keys for key in known)
        return Scope(keys=chosen, refused=refused)

    return scope
