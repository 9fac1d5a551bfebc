"""One table put back to an older version by a RESTORE commit of ours, with positions staying right.

What bronze records of its source goes back with its rows, so that they are read again; what gold
records of silver goes back with the view. Silver and quarantine keep their batches' numbers: the
rows that leave stay away until they are derived again. Versions from which rows were moved to other
tables since are refused: such a row would be in two.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable

from lake_assets.backup.erased_then import ensure_none_erased
from lake_assets.backup.since_version import ensure_unmoved, info_of, lowered, sources_since
from lake_assets.backup.versions_then import table_at
from lake_assets.delta.commit import TABLE_ID, Batch, Commit, DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.deletion_vectors import has_deleted_rows
from lake_assets.delta.feature_gate import ensure_usable
from lake_assets.delta.log_history import rows_of
from lake_assets.delta.recorded_sources import sources_read
from lake_assets.delta.refresh_position import COLUMNS, DEFINITION, position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.renamed_columns import unmarked
from lake_assets.delta.restores import held_offsets, is_restored, recorded_of
from lake_assets.delta.source_offsets import begun_offsets, offset_transactions
from lake_assets.delta.table_features import Use, features_of
from lake_assets.delta.table_layout import layout_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.delta.table_owners import owner_of
from lake_assets.errors import LakeError, first_line
from lake_assets.feeds.load import load_feeds
from lake_assets.gold.refresh_need import definition_of
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.origins import ByPlace
from lake_assets.model.tables import Layer, TableRef, bronze_of
from lake_assets.parquet.stats import file_stats
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.state.files import streams_lock, turn
from lake_assets.streams.noted_changes import REDO_TURN

RESTORED = "lake_assets.restored_version"
"""Key in a commit's metadata: the version that the table was put back to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRestore:
    """What is about to be done to a table, and what follows."""

    table: TableRef
    version: int
    newest: int
    rows_now: int
    rows_then: int
    follows: tuple[str, ...]
    """In words."""

    commit: Commit
    next_offsets: ByPlace | None = None
    """Of bronze: by name and partition of what its feed reads, what is read again from where."""

    @property
    def is_idle(self) -> bool:
        """Whether the table has the very files of that version."""
        return not (self.commit.files or self.commit.removed)


@contextmanager
def table_restore(
    settings: Settings, table: TableRef, at: datetime | int
) -> Iterator[tuple[TableRestore, Callable[[], None]]]:
    """What putting a table back to a version, or to a time, means, and what does it.

    Nothing happens unless that is called. Meanwhile no streams run, but where the table is a gold
    view, which is not refreshed meanwhile.

    Raises:
        FeedError: nobody declares the table's feed.
        StreamsLockedError: streams run.
        LakeError: the version cannot be read, rows were moved since, or the lake cannot be used.
        TableFeatureError: a feature of the table forbids it.
    """
    with ExitStack() as held:
        context = held.enter_context(open_lake(settings))
        feed = _feed_of(settings, context, table)
        _take_turns(held, settings, context, feed, table)
        planned = _Planning(context, feed, table).plan(at)
        ensure_none_erased(context.erasures, feed, table, planned.commit.files)
        yield planned, lambda: context.committer.replace_files([planned.commit])


def _feed_of(settings: Settings, context: LakeContext, table: TableRef) -> Feed:
    owner = owner_of(context.lake, table)
    feeds = {feed.feed: feed for feed in load_feeds(settings.feeds)}
    if owner is None or owner.feed not in feeds:
        whose = "is no table of a feed" if owner is None else f"is of feed {owner.feed!r}"
        fact = whose if owner is None else f"{whose}, which is not declared"
        raise LakeError(
            table.relative, fact, "Name a table of a declared feed; `lake-assets tables` shows them"
        )
    return feeds[owner.feed]


def _take_turns(
    held: ExitStack, settings: Settings, context: LakeContext, feed: Feed, table: TableRef
) -> None:
    if table.layer is not Layer.GOLD:
        held.enter_context(streams_lock(settings.state_dir))
    # Maintenance deletes files of old versions, and leaves a table whose turn this is.
    held.enter_context(turn(settings.state_dir, REDO_TURN))
    if (view := _view_of(context, feed, table)) is not None:
        held.enter_context(turn_of_views(settings.state_dir, feed, [view]))


def _view_of(context: LakeContext, feed: Feed, table: TableRef) -> GoldView | None:
    """The view that a table is of; None if it is no gold, or its view is not declared any more."""
    owner = owner_of(context.lake, table) if table.layer is Layer.GOLD else None
    return next((view for view in feed.gold if owner and view.name == owner.view), None)


class _Planning:
    """What is known of a table now and then."""

    def __init__(self, context: LakeContext, feed: Feed, table: TableRef) -> None:
        self._context, self._feed, self._table = context, feed, table
        self._log = log_of(context.lake, table)

    def plan(self, at: datetime | int) -> TableRestore:
        then = table_at(self._context.lake, self._table, at)
        if then.version is None or then.why_not:
            what = "it" if then.version is None else f"its version {then.version}"
            step = "`lake-assets tables --at` shows what can be read; a backup may have more"
            raise LakeError(
                self._table.relative, f"{what} cannot be put back: {then.why_not}", step
            )
        now, before = self._log.open(), self._log.open(then.version)
        self._ensure_restorable(now, before)
        commit, planned = self._commit(now, before), (rows_of(now), rows_of(before))
        offsets: ByPlace | None = None
        if self._table == bronze_of(self._feed.feed):
            commit, offsets = self._with_offsets(commit, now, before)
        elif self._table.layer is Layer.GOLD:
            commit = self._with_position(commit, now, before)
        return TableRestore(
            table=self._table,
            version=then.version,
            newest=now.version(),
            rows_now=planned[0],
            rows_then=planned[1],
            follows=tuple(self._follows(commit)),
            commit=commit,
            next_offsets=offsets,
        )

    def _ensure_restorable(self, now: DeltaTable, before: DeltaTable) -> None:
        name = self._table.relative
        ensure_usable(now, Use.READ, Use.REWRITE)
        if has_deleted_rows(before):
            fact = f"has deletion vectors in its version {before.version()}"
            raise LakeError(name, fact, "Let the engine that wrote them restore it")
        types = {field.name: field.type for field in now.schema().fields}
        other = next((f.name for f in before.schema().fields if types.get(f.name) != f.type), None)
        if other is not None:
            fact = f"has its column {other} otherwise, or no longer, since version "
            fact += str(before.version())
            raise LakeError(name, fact, self._derive())
        schema, then = (pa.schema(handle.schema().to_arrow()) for handle in (now, before))
        if named := unmarked(then, schema):
            fact = f"has {', '.join(named)} by an older name in its version {before.version()}"
            raise LakeError(name, f"{fact}: its rows of then would lack the values", self._derive())
        by_now, by_then = layout_of(now), layout_of(before)
        if by_now != by_then:
            fact = f"is partitioned by {by_now or 'nothing'}, and its version {before.version()} "
            fact += f"by {by_then or 'nothing'}: files of another layout cannot come back"
            raise LakeError(name, fact, self._derive())
        if self._table.layer is not Layer.GOLD:
            if is_restored(self._log, now.version()):
                fact = "was put back by another engine (RESTORE) already"
                raise LakeError(name, fact, f"Let the streams run, or {lowered(self._derive())}")
            ensure_unmoved(self._log, name, before.version(), now.version(), self._derive())

    def _commit(self, now: DeltaTable, before: DeltaTable) -> Commit:
        files = {file.path: file for file in active_files(now)}
        wanted = {file.path: file for file in active_files(before)}
        removed = [file for path, file in files.items() if path not in wanted]
        added = [
            replace(file, stats=_stats(self._log, file, before.version()))
            for path, file in wanted.items()
            if path not in files
        ]
        is_plain = features_of(now).is_plain
        # Where deltalake makes the commit it names it itself.
        named = {"operation": "RESTORE"} if is_plain or removed else {}
        return Commit(
            table=self._table,
            files=added,
            removed=removed,
            info={**named, RESTORED: str(before.version())},
            seen=now.version(),
            plain_id=str(now.metadata().id) if is_plain else "",
            plain_partitions=tuple(now.metadata().partition_columns),
        )

    def _with_offsets(
        self, commit: Commit, now: DeltaTable, before: DeltaTable
    ) -> tuple[Commit, ByPlace]:
        """Bronze's commit with how far its sources are in the rows of then."""
        source = self._feed.source
        kind, declared = source.kind, source.declared
        read = sources_since(self._log, kind, before.version(), now.version())
        if others := sorted(name for name in read if not declared.reads(name)):
            fact = f"has rows of {others[0]} since its version {before.version()}, and its feed "
            fact += f"reads {declared.label} by now: they could not be read again"
            raise LakeError(self._table.relative, fact, "Name a later version")
        sources = sources_read(self._log, now, source)
        recorded, held = recorded_of(now, sources), held_offsets(self._log, before, sources)
        first = begun_offsets(now, kind, recorded)
        offsets = {place: held.get(place, first[place]) for place in recorded}
        transactions: Sequence[Batch] = offset_transactions(kind, offsets, recorded)
        return replace(commit, transactions=transactions), offsets

    def _with_position(self, commit: Commit, now: DeltaTable, before: DeltaTable) -> Commit:
        """Gold's commit with the silver that its rows of then stand for, if they are today's."""
        told = info_of(self._log, before.version())
        is_told = position_from(told) is not None or PositionOfAll.of(told) is not None
        if not is_told or self._is_redefined(told):
            return commit
        kept = {k: v for k, v in told.items() if k.startswith("lake_assets.") and k != TABLE_ID}
        if len(active_files(now)) > len(commit.removed):
            # With the columns known a refresh takes what the newest commit added for all there is.
            kept.pop(COLUMNS, None)
        return replace(commit, info={**kept, **commit.info})

    def _is_redefined(self, told: Mapping[str, str]) -> bool:
        """Whether a view was of another declaration then: nothing goes on from that.

        Streams that find another one than theirs leave the view to whoever changed it.
        """
        view = _view_of(self._context, self._feed, self._table)
        if view is None:
            return False
        return told.get(DEFINITION) != definition_of(view, self._context.session)

    def _follows(self, commit: Commit) -> Iterator[str]:
        away = sum(file.rows for file in commit.removed)
        back = sum(file.rows for file in commit.files)
        yield f"files with {away:,} rows leave the table, files with {back:,} rows come back"
        key = (owner.key if (owner := owner_of(self._context.lake, self._table)) else "") or ""
        system = self._feed.source.declared.system
        if self._table == bronze_of(self._feed.feed):
            yield f"the next start of the streams reads from {system} again what bronze lacks then"
            yield "silver and quarantine stay as they are: what they have they do not get again"
        elif self._table.layer is Layer.GOLD:
            goes_on = position_from(commit.info) is not None
            way = "brings it up to date with silver again" if goes_on else "computes it anew"
            yield f"the next refresh of the view {way}{'' if goes_on else self._lost}"
        else:
            only = f" --key {key}" if key else ""
            yield (
                "rows that came since then stay away, from gold as well, until `lake-assets "
                f"rebuild silver{only}` derives them from bronze; what comes next comes as ever"
            )
            if self._table.layer is Layer.SILVER:
                yield f"views of it are computed anew by their next refresh{self._lost}"

    @property
    def _lost(self) -> str:
        """What a view lacks that is computed anew, in words."""
        if self._feed.retention is None:
            return ""
        return ", from what silver has then: rows that left it for their age are not counted"

    def _derive(self) -> str:
        layer = "gold" if self._table.layer is Layer.GOLD else "silver"
        return f"Run `lake-assets rebuild {layer}`, which derives it anew"


def _stats(log: TableLog, file: DataFile, version: int) -> str:
    """A file's statistics, from its footer, which does not tell where NaN is."""
    place = log.data_file(file.path)
    try:
        with log.store.open_for_reading(place) as source:
            footer = pq.read_metadata(source)
    except (OSError, pa.ArrowException) as problem:
        is_missing = isinstance(problem, FileNotFoundError)
        fact = "is missing" if is_missing else f"is damaged ({first_line(problem)})"
        fact += f", and version {version} of its table needs it"
        step = "Put the file back, or name a later version; a backup may have it"
        raise LakeError(str(place), fact, step) from problem
    floats = {f.name for f in footer.schema.to_arrow_schema() if pa.types.is_floating(f.type)}
    return file_stats(footer, floats, without=file.partition)
