"""Refreshing gold: the views of all asked-for keys brought up to date, then one commit a key.

A key whose silver only gained rows is read from where its gold stands, and merged with it: by
`gold.arrow_merge` if both are small, else by Spark. The others are recomputed in full, in the same
job.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from lake_assets.delta.table_owners import claim
from lake_assets.gold.arrow_merge import merge_in_arrow
from lake_assets.gold.commit_rewritten import commit_rewritten
from lake_assets.gold.compiled_view import compiled_view_of
from lake_assets.gold.job import compute
from lake_assets.gold.keys_behind import Phases
from lake_assets.gold.refresh_plan import Rewritten, catch_up, open_all, report_of
from lake_assets.gold.view_heads import ViewHead, small_gain_of, view_heads_of
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import owner_of_view
from lake_assets.model.reports import Judged, RefreshReport
from lake_assets.spark.columns_of_keys import columns_of_keys
from lake_assets.spark.lake_context import LakeContext


def refresh(  # noqa: PLR0913 - where, what, and which of it
    session: SparkSession,
    feed: Feed,
    view: GoldView,
    keys: Sequence[str],
    context: LakeContext,
    blocked: Mapping[str, str] | None = None,
    *,
    full_refresh: bool = False,
) -> RefreshReport:
    """Bring a view up to date for `keys` whose silver has changed, or all if `full_refresh`.

    Readers see the old rows of a key or the new ones, never a mixture; keys that are up to date
    or have no silver yet are left alone, and so are those that are `blocked`, by key and why. A
    key's position is in its commit, so a refresh that dies between two commits is taken up by the
    next one, and one that runs twice from the same position is refused the second time.

    Raises:
        CommitConflictError: somebody else changed a gold table meanwhile.
        ExpectationFailedError: rows violate an expectation of the view that fails; no key of the
            view is changed.
        FeedError: a key, a measure or an expectation of the view does not compile.
        LakeError: the lake cannot be read or written.
        TableOwnedError: a key's table is there, and is another feed's, key's or view's.
    """
    phases, blocked = Phases(), blocked or {}
    for key in keys:
        claim(context.lake, feed.gold_table(view, key), owner_of_view(feed, view.name, key))
    heads = {} if full_refresh else view_heads_of(feed, view, keys, context)
    current = {key for key, head in heads.items() if not head.source.is_behind}
    behind = [head for key, head in heads.items() if key not in current and key not in blocked]
    done = _merge_small_gains(session, view, behind, context, phases)
    merged = {refreshed.plan.source.key for refreshed in done}
    unseen = [key for key in keys if key not in current and key not in merged]
    opened = open_all(feed, view, unseen, context)
    wanting = [tables for tables in opened if full_refresh or tables.source.is_behind]
    lacking = {tables.source.key for tables in wanting}
    current |= {tables.source.key for tables in opened} - lacking
    held_up = lacking & blocked.keys()
    rest = [tables for tables in wanting if tables.source.key not in held_up]
    judged: Mapping[tuple[str, str], Judged] = {}
    if rest:
        silver = columns_of_keys(context.lake, feed, [tables.silver for tables in rest])
        compiled_view = compiled_view_of(session, feed, view, silver)
        plans = catch_up(
            view,
            compiled_view.columns,
            compiled_view.why_full,
            rest,
            context,
            full_refresh=full_refresh,
        )
        phases.end("plan")
        computed = compute(session, compiled_view, silver, plans, context)
        phases.end("job")
        commit_rewritten(computed.rewritten, compiled_view, context)
        phases.end("commit")
        done, judged = [*done, *computed.rewritten], computed.judged
    by_key = {refreshed.plan.source.key: report_of(refreshed, view) for refreshed in done}
    return RefreshReport(
        refreshed=tuple(by_key[key] for key in keys if key in by_key),
        up_to_date=tuple((key, view.name) for key in keys if key in current),
        judged=judged,
        blocked={key: blocked[key] for key in keys if key in held_up},
        seconds=phases.seconds,
    )


def _merge_small_gains(
    session: SparkSession,
    view: GoldView,
    heads: Sequence[ViewHead],
    context: LakeContext,
    phases: Phases,
) -> list[Rewritten]:
    gains = small_gain_of(view, heads, context)
    phases.end("plan")
    if not gains:
        return []
    merged = merge_in_arrow(session, gains, context)
    phases.end("job")
    context.committer.replace_files([refreshed.commit for refreshed in merged])
    phases.end("commit")
    return merged
