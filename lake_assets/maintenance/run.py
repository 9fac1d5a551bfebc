"""Maintaining a feed's tables: each looked at, and what the policy says done to it.

Beside whatever else runs: streams append meanwhile, and a table's turn is waited for by requeue and
rebuild, whose own it skips. Needs no Spark.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from deltalake.exceptions import DeltaError
from humanfriendly import InvalidTimespan, parse_timespan

from lake_assets.delta.catalog import ensure_known, keys_found, tables_of
from lake_assets.delta.compaction import join_files, joinable_files
from lake_assets.delta.conflicts import lake_errors
from lake_assets.delta.log_cleanup import delete_old_log, old_log, version_at
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.unused_files import UnusedFile, delete_unused, unused_files
from lake_assets.errors import LakeError
from lake_assets.maintenance.holds import holds_of
from lake_assets.maintenance.old_rows import Retention
from lake_assets.maintenance.policy import (
    Limits,
    Unused,
    WrittenFile,
    files_to_join,
    kept_since,
    may_go,
    within,
)
from lake_assets.maintenance.table_upkeep import TableUpkeep
from lake_assets.maintenance.unused_since import WATCHED_S, Since, UnusedSince
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import flows_into
from lake_assets.model.layouts import TableLayout
from lake_assets.model.tables import Layer, TableRef, deliveries_of
from lake_assets.runtime.low_priority import at_low_priority
from lake_assets.settings.schema import Settings
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.state.files import maintenance_turn, turn_if_free
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.noted_changes import REDO_TURN, noted_texts

_JOINED = {Layer.BRONZE, Layer.SILVER, Layer.QUARANTINE, Layer.LOG}
"""Layers whose files are joined. A gold table's are rewritten with each refresh, by bucket."""

_BATCHES = {Layer.BRONZE: 10, Layer.SILVER: 10, Layer.QUARANTINE: 10}
"""By layer, the batches whose commits stay whatever their age: what a batch that was cut off is
undone by. Of gold the newest commit says all."""

_TROUBLE = (LakeError, DeltaError, pa.ArrowException, OSError)
"""What may be the matter with a table's log or files."""

_RETENTIONS = ("delta.deletedFileRetentionDuration", "delta.logRetentionDuration")


def maintain(
    settings: Settings, feed: Feed, *, keys: Sequence[str] | None = None, dry_run: bool = False
) -> list[TableUpkeep]:
    """Bring a feed's tables into shape: files joined, unused ones deleted, logs shortened.

    Bounded in time and bytes; the next run goes on. It gives way to streams and refreshes beside
    it. A process that dies leaves tables as they were,
    or better.

    Args:
        settings: where the lake is, and the limits (`maintenance`).
        feed: whose tables.
        keys: only their silver and gold; all tables by default.
        dry_run: whether to tell what would be done, and change nothing.

    Returns:
        What was done, by table, in the order data travels.

    Raises:
        FeedError: the lake has no such key.
        ForeignStateError: the state folder is not this lake's.
        LakeError: the lake cannot be read or written, or another process maintains the feed.
    """
    return at_low_priority(lambda: _maintain(settings, feed, keys, dry_run=dry_run))


def _maintain(
    settings: Settings, feed: Feed, keys: Sequence[str] | None, *, dry_run: bool
) -> list[TableUpkeep]:
    if dry_run and not tables_of(lake_of(settings), feed):  # nothing is made of no lake, either
        ensure_known(feed, keys_found(lake_of(settings), feed), keys or ())
        return []
    with (
        open_lake(settings) as context,
        turn_if_free(settings.state_dir, maintenance_turn(feed.feed)) as is_ours,
    ):
        if not is_ours:
            raise LakeError(
                f"feed {feed.feed!r}",
                "is being maintained by another process",
                "Wait until it is done; it takes minutes",
            )
        with lake_errors(context.lake.root):
            return _Maintenance(settings=settings, feed=feed, context=context, dry_run=dry_run).run(
                keys
            )


@dataclass(kw_only=True)
class _Maintenance:
    """A run."""

    settings: Settings
    feed: Feed
    context: LakeContext
    dry_run: bool
    ends_at: float = 0.0
    """No rewrite begins after it; `time.monotonic`."""

    def run(self, keys: Sequence[str] | None) -> list[TableUpkeep]:
        lake, limits = self.context.lake, self.settings.maintenance
        self.ends_at = time.monotonic() + limits.run_minutes * 60
        ensure_known(self.feed, keys_found(lake, self.feed), keys or ())
        holds = holds_of(self.settings, self.feed)
        unused = UnusedSince.of(self.settings.state_dir, self.feed.feed)
        retention = Retention.of(self.settings, self.feed, self.context, time.time())
        done = []
        for table in self._tables(keys):
            upkeep = TableUpkeep(table=table)
            done.append(upkeep)
            with turn_if_free(self.settings.state_dir, REDO_TURN) as is_free:
                if not is_free:
                    upkeep.notes.append("left: a requeue, a rebuild or catching up is under way")
                    continue
                try:
                    self._maintain(upkeep, holds.get(table, {}), unused, retention)
                except _TROUBLE as problem:  # each table's is its own
                    upkeep.notes.append(str(problem))
        if not self.dry_run:
            unused.save()
        return done

    def _tables(self, keys: Sequence[str] | None) -> list[TableRef]:
        lake = self.context.lake
        tables = tables_of(lake, self.feed)
        if keys is None:
            of_sinks = (deliveries_of(self.feed.feed, sink.name) for sink in self.feed.sinks)
            return [*tables, *(table for table in of_sinks if log_of(lake, table).exists())]
        own = {self.feed.silver_table(key) for key in keys}
        own |= {self.feed.gold_table(view, key) for view in self.feed.gold for key in keys}
        return [table for table in tables if table in own]

    def _maintain(
        self,
        upkeep: TableUpkeep,
        holds: Mapping[str, float],
        unused: UnusedSince,
        retention: Retention,
    ) -> None:
        table = upkeep.table
        log = log_of(self.context.lake, table)
        if table.layer in _JOINED:
            slices = self._delete_old_rows(upkeep, retention)
            self._join(upkeep, slices)
        now = time.time()
        kept = kept_since(now, self._keep_s(table), holds)
        if kept.because:
            upkeep.notes.append(f"older versions are kept: {kept.because}")
        oldest = version_at(log, kept.since, now)
        self._delete_unused(upkeep, log, oldest, unused)
        self._shorten_log(upkeep, log, oldest)

    def _delete_old_rows(
        self, upkeep: TableUpkeep, retention: Retention
    ) -> Mapping[str, int] | None:
        """Have old rows leave; by file, which part of time it is of, if that matters."""
        is_late = time.monotonic() > self.ends_at
        most = 0 if is_late else int(self.settings.maintenance.run_gb * (1 << 30))
        left = retention.apply(upkeep.table, may_rewrite=most, dry_run=self.dry_run)
        upkeep.old_rows = left.rows
        upkeep.notes += left.notes
        return left.slices

    def _join(self, upkeep: TableUpkeep, slices: Mapping[str, int] | None) -> None:
        table, limits = upkeep.table, self.settings.maintenance
        files = [
            WrittenFile(file, written, 0 if slices is None else slices[file.path])
            for file, written in joinable_files(self.context.committer, table)
            if slices is None or file.path in slices
        ]
        bins = files_to_join(
            files, target=limits.target_file_mb << 20, at_least=limits.join_at_files
        )
        layout = self.feed.layout_in(table) if table.layer is Layer.SILVER else TableLayout()
        taken, _ = within(bins, int(limits.run_gb * (1 << 30)))
        left = len(bins) - len(taken)
        for bin_ in taken:
            if time.monotonic() > self.ends_at:
                left += 1
            elif self.dry_run or join_files(
                self.context.committer, table, bin_, layout.cluster_by, layout.bloom_filters
            ):
                upkeep.joined += len(bin_)
                upkeep.into += 1
                upkeep.joined_bytes += sum(file.size for file in bin_)
            else:
                upkeep.notes.append(f"{len(bin_)} files were left: others changed them meanwhile")
        if left:
            upkeep.notes.append(f"{left} more files to make are left to the next run")

    def _keep_s(self, table: TableRef) -> float:
        """How long versions stay readable: what the table says, or else the settings."""
        properties = self.context.committer.fresh(table).metadata().configuration
        own = [seconds_of(properties[name]) for name in _RETENTIONS if name in properties]
        return max(own, default=self.settings.maintenance.keep_hours * 3600)

    def _delete_unused(
        self, upkeep: TableUpkeep, log: TableLog, oldest: int, unused: UnusedSince
    ) -> None:
        found = unused_files(log, partial(self.context.committer.fresh, upkeep.table))
        since = unused.meet(upkeep.table, [file.path for file in found])
        noted = noted_texts(self.settings, self.context.lake, (self.feed, *flows_into(self.feed)))
        limits = _limits(self.settings.maintenance, oldest)
        is_derived = upkeep.table.layer is Layer.GOLD
        going = [
            file
            for file in found
            if may_go(_facts(file, since[file.path], noted, is_derived=is_derived), limits)
        ]
        if not self.dry_run:
            delete_unused(log, going)
        upkeep.deleted = len(going)
        upkeep.deleted_bytes = sum(file.size for file in going)

    def _shorten_log(self, upkeep: TableUpkeep, log: TableLog, oldest: int) -> None:
        self.context.committer.settle()
        handle = self.context.committer.fresh(upkeep.table)
        old = old_log(log, handle, oldest, batches=_BATCHES.get(upkeep.table.layer, 0))
        if old is None:
            return
        if not self.dry_run:
            delete_old_log(log, old)
        upkeep.log_files = len(old.files)


def _limits(settings: MaintenanceSettings, oldest: int) -> Limits:
    return Limits(
        oldest_kept=oldest,
        keep_deleted_s=settings.keep_deleted_days * 86_400,
        watched_s=WATCHED_S,
    )


def _facts(file: UnusedFile, since: Since, noted: str, *, is_derived: bool) -> Unused:
    return Unused(
        removed_in=file.removed_in,
        is_rearranged=is_derived or not file.has_gone_rows,
        unused_for_s=time.time() - since.wall,
        watched_s=time.monotonic() - since.monotonic,
        is_noted=file.path.rpartition("/")[2] in noted,
    )


def seconds_of(interval: str) -> float:
    """Seconds of a duration as Delta's table properties have it: `interval 7 days`.

    Raises:
        LakeError: it is none.
    """
    try:
        return float(parse_timespan(interval.lower().removeprefix("interval ")))
    except InvalidTimespan as problem:
        raise LakeError(
            f"table property {interval!r}", "is no duration", "Write it like 'interval 7 days'"
        ) from problem
