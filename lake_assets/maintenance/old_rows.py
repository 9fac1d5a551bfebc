"""Rows of a feed's tables that leave for their age: what a run knows of it, and having them leave.

Which files are concerned is `maintenance.retention`'s to decide; how they leave, `delta.old_rows`'.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from lake_assets.delta.commit import DataFile
from lake_assets.delta.event_times import RowsFrom, timed_files
from lake_assets.delta.log_history import open_table
from lake_assets.delta.old_rows import Gone, OldRows
from lake_assets.delta.row_ages import aged_files, newest_arrival, no_timestamps
from lake_assets.delta.source_offsets import Offsets
from lake_assets.delta.table_log import log_of
from lake_assets.errors import TableFeatureError
from lake_assets.maintenance.open_windows import rows_in_open_windows
from lake_assets.maintenance.retention import (
    overdue,
    rows_go_before,
    slice_of,
    without_spared,
)
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import flows_into
from lake_assets.model.retention import Age, RowAges
from lake_assets.model.tables import Layer, TableRef, bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux_position import read_position
from lake_assets.sinks.standing import taken_by_sinks
from lake_assets.spark.lake_context import LakeContext
from lake_assets.storage.store import Store

_MOST_FILES = 5_000
"""Files that leave a table in one commit, which names each in 300 bytes; bronze's are looked into,
which takes a millisecond a file."""


@dataclass(kw_only=True, slots=True)
class Left:
    """What became of a table's old rows."""

    rows: int = 0
    """That left, or would."""

    notes: tuple[str, ...] = ()
    slices: Mapping[str, int] | None = None
    """By file that is left, the part of time that its rows are of."""


@dataclass(frozen=True, kw_only=True)
class Retention:
    """What a run knows of a feed's rows."""

    feed: Feed
    context: LakeContext
    now: datetime
    newest: datetime | None
    """Time of the newest row that the feed has got, or one that fills its tables, by the source;
    None if bronze does not tell."""

    taken: Offsets
    """The offsets up to which demux has taken bronze's rows, or sinks of bronze have."""

    spared: Mapping[TableRef, Sequence[RowsFrom]] = field(default_factory=dict)
    """By table, rows that stay whatever their age."""

    @classmethod
    def of(cls, settings: Settings, feed: Feed, context: LakeContext, now: float) -> Self:
        """Look at a feed's tables, if it declares any age.

        Raises:
            DeltaError: deltalake cannot read a log.
            LakeError: a table's log cannot be read.
        """
        at = datetime.fromtimestamp(now, UTC)
        if not feed.lets_rows_go:
            return cls(feed=feed, context=context, now=at, newest=None, taken={})
        bronze = open_table(context.lake, bronze_of(feed.feed))
        columns = [name for name in (feed.source.origin.time, "ingested_at") if name]
        newest = None if bronze is None else newest_arrival(bronze, columns)
        for flow in flows_into(feed):
            other = open_table(context.lake, bronze_of(flow.feed))
            columns = [name for name in (flow.source.origin.time, "ingested_at") if name]
            arrived = None if other is None else newest_arrival(other, columns)
            newest = max((at for at in (newest, arrived) if at is not None), default=None)
        return cls(
            feed=feed,
            context=context,
            now=at,
            newest=newest,
            taken=_taken(context.lake, feed),
            spared=rows_in_open_windows(settings, feed, now) if feed.retention else {},
        )

    def apply(self, table: TableRef, *, may_rewrite: int, dry_run: bool) -> Left:
        """Have a table's old rows leave, if the feed declares an age for them.

        Args:
            table: of the feed.
            may_rewrite: bytes of files that may be read for it.
            dry_run: whether to tell what would leave, and change nothing.

        Raises:
            CommitConflictError: others commit to the table all the time.
            ConstraintViolatedError: a constraint that it got later forbids the rows that stay.
            LakeError: the lake cannot be read or written.
        """
        age = self.feed.age_of(table)
        if age is None:
            return Left()
        log, handle = log_of(self.context.lake, table), self.context.committer.fresh(table)
        # Deliveries are as old as they are, however new what the feed gets is.
        own = newest_arrival(handle, age.columns) if table.layer is Layer.LOG else None
        newest = own or self.newest
        if newest is None:
            return Left(notes=("rows of any age stay: bronze does not tell how new its newest is",))
        before = rows_go_before(self.now, newest, age.keep)
        try:
            files = aged_files(log, handle, age.columns)
            whole, partly = overdue(files, before, age.keep)
            for rows in self.spared.get(table, ()):
                timed = timed_files(handle, rows.column)
                all_spared = {each.file.path for each in timed if rows.has_all(each)}
                none_spared = {each.file.path for each in timed if rows.has_none(each)}
                whole, partly = without_spared(whole, partly, all_spared, none_spared)
            taken, later = _within(partly, may_rewrite)
            later += len(whole[_MOST_FILES:])
            del whole[_MOST_FILES:]
            old = self._old_rows(table, age, before)
            if dry_run:
                gone: Gone | None = Gone(rows=sum(file.rows for file in whole))
                later += len(taken)
            else:
                gone = old.delete(self.context.committer, whole, taken)
        except TableFeatureError as problem:
            return Left(notes=(f"rows of any age stay: {problem}",))
        notes = [
            f"column {name!r} is no timestamp, so rows go by when they came"
            for name in no_timestamps(handle, age.columns)
        ]
        notes += [f"{later} files with old rows are left to the next run"] if later else []
        if gone is None:
            notes.append("old rows were left: others changed their files meanwhile")
        return Left(
            rows=0 if gone is None else gone.rows,
            notes=tuple(notes),
            slices=_slices(files, age),
        )

    def _old_rows(self, table: TableRef, age: Age, before: datetime) -> OldRows:
        if table != bronze_of(self.feed.feed):
            spared = self.spared.get(table, ())
            return OldRows(table=table, columns=age.columns, before=before, spared=spared)
        source = self.feed.source
        return OldRows(
            table=table,
            columns=age.columns,
            before=before,
            origin=source.origin,
            kind=source.kind,
            upto=self.taken,
        )


def _slices(files: list[tuple[DataFile, RowAges]], age: Age) -> dict[str, int]:
    return {file.path: slice_of(ages, age.keep) for file, ages in files}


def _within(files: list[DataFile], most: int) -> tuple[list[DataFile], int]:
    """Files up to so many bytes, and how many are left; the first whatever its size."""
    taken: list[DataFile] = []
    for file in files:
        if most <= 0:
            break
        taken.append(file)
        most -= file.size
    return taken, len(files) - len(taken)


def _taken(lake: Store, feed: Feed) -> Offsets:
    """The offsets below which nobody asks for bronze's rows any more."""
    if not feed.has_silver:
        return taken_by_sinks(lake, feed)
    quarantine = open_table(lake, quarantine_of(feed.feed))
    position = read_position(quarantine, feed.feed) if quarantine is not None else None
    return {} if position is None else position.offsets
