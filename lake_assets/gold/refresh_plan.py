"""How each key that is behind catches up: from which files of silver, into which buckets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.schema import Field as DeltaField
from deltalake.schema import Schema as DeltaSchema

from lake_assets.delta.added_files import Gained, gained_between
from lake_assets.delta.commit import Commit, DataFile
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import last_info, rows_of
from lake_assets.delta.refresh_position import STATE_FORMAT, position_from
from lake_assets.delta.table_features import features_of
from lake_assets.delta.table_log import TableLog, log_of
from lake_assets.gold.buckets import bucket_of, buckets_for, buckets_now
from lake_assets.gold.refresh_need import ViewSnapshot, info_of, merged_upto, why_not_beside
from lake_assets.gold.usable_tables import ensure_refreshable
from lake_assets.gold.view_snapshot import view_snapshot_of
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.lake_uri import LakeUri
from lake_assets.model.reports import Mode, ViewRefresh
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.read_tables import TableVersion, contents_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """A key's tables, opened."""

    source: ViewSnapshot
    silver: DeltaTable
    gold: DeltaTable | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RefreshPlan:
    """What one key's refresh reads, keeps and replaces."""

    source: ViewSnapshot
    mode: Mode
    why: str
    silver_files: tuple[LakeUri, ...]
    rows_read: int
    buckets: int
    """Number of them after the refresh."""

    silver_versions: tuple[TableVersion, ...] = ()
    """Silver whose files may have deleted rows, read in full."""

    gold_files: tuple[DataFile, ...] = ()
    """Of an incremental refresh: what the view has now."""

    is_whole: bool = True
    """Whether all buckets are rewritten."""

    keeps_states: bool = True
    """Whether the next refresh may merge with what this one writes."""

    is_first: bool = False
    """Whether there is no gold table yet."""

    columns: str = ""
    """Of the gold table, as Delta's JSON; empty if it asks more of a writer than to add and remove
    files."""

    plain_id: str = ""
    """As `Commit.plain_id`."""

    def touched(self, buckets: Iterable[int]) -> tuple[DataFile, ...]:
        """The view's files that give way if these buckets get rows."""
        if self.is_whole:
            return self.gold_files
        touched_buckets = set(buckets)
        return tuple(file for file in self.gold_files if bucket_of(file) in touched_buckets)

    def rewritten(self, files: Sequence[DataFile], gone: Sequence[DataFile]) -> "Rewritten":
        """What puts `files` in the place of `gone`, and says what the view now stands for."""
        states = STATE_FORMAT if self.keeps_states else 0
        commit = Commit(
            table=self.source.gold_table,
            files=files,
            removed=gone,
            info=info_of(
                self.source.definition,
                self.source.silver,
                states=states,
                buckets=self.buckets,
                columns=self.columns,
            ),
            seen=self.source.gold_version,
            plain_id=self.plain_id,
        )
        return Rewritten(plan=self, commit=commit)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rewritten:
    """One key's view, written and to be committed."""

    plan: RefreshPlan
    commit: Commit


def open_all(feed: Feed, view: GoldView, keys: Sequence[str], context: LakeContext) -> list[Opened]:
    """Those of the keys that have silver."""
    silver = {key: feed.silver_table(key) for key in keys}
    gold = {key: feed.gold_table(view, key) for key in keys}
    feed_tables = context.committer.opened([*silver.values(), *gold.values()])
    return [
        _opened(feed, view, key, (feed_tables[silver[key]], feed_tables.get(gold[key])), context)
        for key in keys
        if silver[key] in feed_tables
    ]


def _opened(
    feed: Feed,
    view: GoldView,
    key: str,
    tables: tuple[DeltaTable, DeltaTable | None],
    context: LakeContext,
) -> Opened:
    silver, gold = tables
    read = (silver.version(), str(silver.metadata().id))
    stands = (gold.version(), position_from(last_info(gold))) if gold else (0, None)
    source = view_snapshot_of(feed, view, key, read, stands, context)
    return Opened(source=source, silver=silver, gold=gold)


def catch_up(  # noqa: PLR0913 - what, how, and what of it
    view: GoldView,
    columns: pa.Schema,
    unmergeable: str,
    opened: Sequence[Opened],
    context: LakeContext,
    *,
    full_refresh: bool,
    beside: Mapping[str, ViewSnapshot] | None = None,
) -> list[RefreshPlan]:
    """Decide how each key catches up.

    Args:
        view: what is brought up to date.
        columns: of its tables.
        unmergeable: why the view cannot be merged; empty if it can.
        opened: the keys.
        context: where the lake is.
        full_refresh: whether all is to be recomputed.
        beside: by key, what else a merge reads that stands for silver: silver is read from where
            the older one of both stands. None if a merge reads nothing else.

    Raises:
        TableFeatureError: a key's silver cannot be read, or its gold not be replaced.
    """
    ensure_refreshable((tables.silver for tables in opened), (tables.gold for tables in opened))
    schema = DeltaSchema.from_arrow(columns)
    text, fields = schema.to_json(), schema.fields
    reason = "asked for" if full_refresh else unmergeable
    plans = []
    for key_tables in opened:
        other = beside.get(key_tables.source.key) if beside is not None else key_tables.source
        why = _why_full(fields, key_tables, reason) or why_not_beside(other)
        plan = why or _merge(view, key_tables, context, other)
        if isinstance(plan, str):
            plan = _full(key_tables, context, plan, keeps_states=not unmergeable)
        is_known = key_tables.gold is None or features_of(key_tables.gold).is_plain
        plans.append(replace(plan, columns=text if is_known else ""))
    return plans


def _why_full(fields: Sequence[DeltaField], one: Opened, asked: str) -> str:
    """Why a key is recomputed, before its silver's log is read; empty if that has to tell."""
    if one.gold is None:
        return "the key's first refresh"
    reason = asked or one.source.why_full
    if not reason and _by_name(one.gold.schema().fields) != _by_name(fields):
        return "a column has another type"
    return reason


def _by_name(fields: Iterable[DeltaField]) -> dict[str, DeltaField]:
    """A table keeps the order of its columns when all of its rows are replaced."""
    return {field.name: field for field in fields}


def _merge(
    view: GoldView, one: Opened, context: LakeContext, other: ViewSnapshot | None
) -> RefreshPlan | str:
    """How a key is merged with what its silver gained, or why it cannot be."""
    source, position = one.source, one.source.position
    if one.gold is None or position is None:
        raise ValueError(source.key)
    silver = log_of(context.lake, source.silver_table)
    upto, reads = source.silver.version, source.columns.may_have
    gained = gained_between(silver, merged_upto(source, other), upto, reads)
    if gained.obstacle:
        return gained.obstacle
    if features_of(one.gold).may_have_deletion_vectors:
        return "gold's files may have deleted rows"
    gold_files = tuple(active_files(one.gold))
    had = position.buckets
    if had > 1 and any(bucket_of(file) is None for file in gold_files):
        return "gold's files do not tell their buckets"
    buckets = buckets_now(sum(file.rows for file in gold_files), had, context.bucket_rows)
    # What a view's expectations are judged by is all of its rows.
    is_whole = bool(view.expectations) or buckets != had
    return merging(source, gained, silver, gold_files, buckets=buckets, is_whole=is_whole)


def merging(
    source: ViewSnapshot,
    gained: Gained,
    silver: TableLog,
    has: tuple[DataFile, ...],
    *,
    buckets: int = 1,
    is_whole: bool = False,
) -> RefreshPlan:
    """A key that is merged: its silver gained something, and its view is `has`.

    One bucket is written whole if there are rows for it.
    """
    return RefreshPlan(
        source=source,
        mode=Mode.INCREMENTAL,
        why=_gain(len(gained.files)),
        silver_files=tuple(silver.data_file(file.path) for file in gained.files),
        rows_read=gained.rows,
        buckets=buckets,
        gold_files=has,
        is_whole=is_whole or (buckets == 1 and bool(gained.files)),
    )


def _full(one: Opened, context: LakeContext, why: str, *, keeps_states: bool) -> RefreshPlan:
    rows, contents = rows_of(one.gold) if one.gold else 0, contents_of([one.silver])
    return RefreshPlan(
        source=one.source,
        mode=Mode.FULL,
        why=why,
        silver_files=contents.files,
        silver_versions=contents.versions,
        rows_read=rows_of(one.silver),
        buckets=buckets_for(rows, context.bucket_rows) if keeps_states else 1,
        keeps_states=keeps_states,
        is_first=one.gold is None,
    )


def report_of(one: Rewritten, view: GoldView) -> ViewRefresh:
    """What became of one key."""
    plan, commit = one.plan, one.commit
    gone = {file.path for file in commit.removed}
    kept = [file for file in plan.gold_files if file.path not in gone]
    written = sum(file.rows for file in commit.files)
    return ViewRefresh(
        key=plan.source.key,
        view=view.name,
        rows=written + sum(file.rows for file in kept),
        silver_version=plan.source.silver.version,
        files=len(commit.files) + len(kept),
        mode=plan.mode,
        why=plan.why,
        rows_read=plan.rows_read,
        rows_written=written,
    )


def _gain(files: int) -> str:
    if not files:
        return "silver gained nothing, only its files changed"
    return f"silver gained {files} file{'s' if files > 1 else ''} since"
