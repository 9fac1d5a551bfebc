"""What the heads of logs tell of keys' views: which are up to date, and which gain a little.

No table is opened: a refresh's newest commit says all of a view that is one file. Keys that it
does not tell of are `gold.refresh_plan`'s.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import pyarrow as pa
from deltalake.schema import Schema as DeltaSchema

from lake_assets.delta.added_files import gained_between
from lake_assets.delta.log_tail import LogTail, log_tail_of
from lake_assets.delta.refresh_position import Position, position_from
from lake_assets.delta.table_log import log_of
from lake_assets.gold.arrow_aggregates import ArrowAggregates
from lake_assets.gold.arrow_mergeable import arrow_aggregates_of
from lake_assets.gold.buckets import buckets_now
from lake_assets.gold.refresh_need import ViewSnapshot
from lake_assets.gold.refresh_plan import RefreshPlan, merging
from lake_assets.gold.view_snapshot import view_snapshot_of
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.spark.lake_context import LakeContext

_MOST_ROWS = 1_000_000
"""New rows of a key up to which a task holds what they come to, at worst a key a row. More are as
fast in Spark's job, which spills."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewHead:
    """Where one key stands."""

    source: ViewSnapshot
    gold: LogTail


@dataclass(frozen=True, kw_only=True, slots=True)
class SmallGain:
    """A key whose small gain a task merges into its view of one file."""

    plan: RefreshPlan
    aggregates: ArrowAggregates


def view_heads_of(
    feed: Feed, view: GoldView, keys: Sequence[str], context: LakeContext
) -> dict[str, ViewHead]:
    """By key, where it stands; keys of which their logs' heads do not tell are absent."""
    heads, store = {}, context.committer.store
    for key in keys:
        silver = log_tail_of(log_of(store, feed.silver_table(key)))
        gold = log_tail_of(log_of(store, feed.gold_table(view, key)))
        position = position_from(gold.info) if gold else None
        if gold is None or position is None or silver is None or not silver.table_id:
            continue
        source = view_snapshot_of(
            feed, view, key, (silver.version, silver.table_id), (gold.version, position), context
        )
        heads[key] = ViewHead(source=source, gold=gold)
    return heads


def small_gain_of(
    view: GoldView, heads: Iterable[ViewHead], context: LakeContext
) -> list[SmallGain]:
    """Those of the keys that a task can merge."""
    aggregates_of = cache(lambda columns: arrow_aggregates_of(view, _arrow(columns)))
    gains = []
    for head in heads:
        position = head.source.position
        if position is None or not _is_small(head, position, context):
            continue
        # A log is read only where its rows could be merged.
        aggregates = aggregates_of(position.columns)
        if aggregates and (plan := _plan_of(head, position, context)):
            gains.append(SmallGain(plan=plan, aggregates=aggregates))
    return gains


def _is_small(head: ViewHead, position: Position, context: LakeContext) -> bool:
    """Whether gold is one bucket that goes on from where it is."""
    gold_files = head.gold.added
    # With one bucket a refresh writes all rows or none, so what it added is all there is.
    if position.buckets != 1 or not gold_files or not position.columns or not head.gold.table_id:
        return False
    if head.source.why_full:
        return False
    return buckets_now(sum(file.rows for file in gold_files), 1, context.bucket_rows) == 1


def _plan_of(head: ViewHead, position: Position, context: LakeContext) -> RefreshPlan | None:
    """What a key gained; None if it is much, or not all that happened."""
    source = head.source
    silver = log_of(context.lake, source.silver_table)
    gained = gained_between(silver, position.silver_version, source.silver.version)
    if gained.obstacle or gained.has_changed or gained.rows > _MOST_ROWS:
        return None
    return replace(
        merging(source, gained, silver, head.gold.added),
        columns=position.columns,
        plain_id=head.gold.table_id,
    )


def _arrow(columns: str) -> pa.Schema:
    return pa.schema(DeltaSchema.from_json(columns).to_arrow())
