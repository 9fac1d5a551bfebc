"""Refreshing keyed tables: the changes that silver gained, merged with the table, one job for all.

What deletes and truncates were is in a view beside the table (`model.keyed_views`), which is
refreshed for itself. So a table's changes are read from where the older of both stands: to merge
one twice changes nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from lake_assets.delta.table_owners import claim
from lake_assets.gold.commit_rewritten import commit_rewritten
from lake_assets.gold.compiled_view import KEY
from lake_assets.gold.job import compute
from lake_assets.gold.keyed_changes import CompiledKeyed, Remembered, compiled_keyed_of
from lake_assets.gold.keys_behind import Phases, keys_behind
from lake_assets.gold.refresh_plan import Opened, RefreshPlan, catch_up, open_all, report_of
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.keyed_views import LAST_DELETE, LAST_TRUNCATE, deletes_of
from lake_assets.model.owners import owner_of_view
from lake_assets.model.reports import Mode, RefreshReport
from lake_assets.spark.key_column import named_for_keys
from lake_assets.spark.lake_context import LakeContext
from lake_assets.spark.read_tables import Contents, columns_of_all, read_contents, read_tables

_TABLE = "#table_name"


def refresh_keyed(  # noqa: PLR0913 - where, what, and which of it
    session: SparkSession,
    feed: Feed,
    view: GoldView,
    keys: Sequence[str],
    context: LakeContext,
    blocked: Mapping[str, str] | None = None,
    *,
    full_refresh: bool = False,
) -> RefreshReport:
    """Bring a keyed table up to date, as `gold.refresh.refresh` does a view of measures.

    Raises:
        CommitConflictError: somebody else changed a gold table meanwhile.
        ExpectationFailedError: rows violate an expectation of the table that fails; no key's table
            is changed.
        FeedError: `keyed` or an expectation does not compile.
        LakeError: the lake cannot be read or written.
        TableOwnedError: a key's table is there, and is another feed's, key's or view's.
    """
    phases = Phases()
    for key in keys:
        claim(context.lake, feed.gold_table(view, key), owner_of_view(feed, view.name, key))
    deletes = _deletes(feed, view, keys, context)
    # After them, so that they know of nothing that the table's silver has not.
    behind = keys_behind(feed, view, keys, context, blocked or {}, full_refresh=full_refresh)
    rest = behind.rest
    if not rest:
        return behind.report()
    silver = columns_of_all([one.silver for one in rest])
    compiled = compiled_keyed_of(session, feed, view, silver)
    plans = catch_up(
        view,
        compiled.columns,
        compiled.why_full,
        rest,
        context,
        full_refresh=full_refresh,
        beside=None if deletes is None else {key: one.source for key, one in deletes.items()},
    )
    compiled, plans = _with_remembered(session, compiled, silver, plans, deletes or {})
    phases.end("plan")
    computed = compute(session, compiled, silver, plans, context)
    phases.end("job")
    commit_rewritten(computed.rewritten, compiled, context)
    phases.end("commit")
    refreshed = [report_of(one, view) for one in computed.rewritten]
    return behind.report(refreshed, computed.judged, phases.seconds)


def _deletes(
    feed: Feed, view: GoldView, keys: Sequence[str], context: LakeContext
) -> dict[str, Opened] | None:
    """By key, the tables that remember its deletes; None of a view that needs none."""
    needed = deletes_of(view, feed.source.origin.in_silver.identity)
    if needed is None:
        return None
    found = open_all(feed, needed, keys, context)
    return {one.source.key: one for one in found}


def _with_remembered(
    session: SparkSession,
    compiled: CompiledKeyed,
    silver: pa.Schema,
    plans: Sequence[RefreshPlan],
    deletes: Mapping[str, Opened],
) -> tuple[CompiledKeyed, list[RefreshPlan]]:
    """What is known of deletes, and plans that write all of a table that is truncated.

    Keys that are computed in full read all of their changes, and need nothing of it.
    """
    plans, keyed = list(plans), compiled.keyed
    merging = {plan.source.key for plan in plans if plan.mode is not Mode.FULL}
    known = [deletes[key] for key in sorted(merging & deletes.keys())]
    rows = _rows_of_deletes(session, compiled, known) if known else None
    found = Remembered()
    if rows is not None and (keyed.deletes or keyed.tombstones):
        found = replace(found, deletes=compiled.deletes_in(rows, LAST_DELETE))
    if keyed.truncates:
        contents = Contents(
            files=tuple(file for plan in plans for file in plan.silver_files),
            versions=tuple(one for plan in plans for one in plan.silver_versions),
        )
        named = named_for_keys(compiled.feed)
        gained = compiled.truncates_of(read_contents(session, contents, silver, named=named))
        emptied = {row[KEY] for row in gained.select(f"`{KEY}`").distinct().collect()}
        plans = [replace(one, is_whole=one.is_whole or one.source.key in emptied) for one in plans]
        if rows is not None:
            gained = gained.unionByName(compiled.truncates_in(rows, LAST_TRUNCATE))
        found = replace(found, truncates=compiled.last_of(gained))
    return replace(compiled, remembered=found), plans


def _rows_of_deletes(
    session: SparkSession, compiled: CompiledKeyed, known: Sequence[Opened]
) -> DataFrame:
    """All rows of views of deletes, with `#key`."""
    feed = compiled.feed
    needed = deletes_of(compiled.view, feed.source.origin.in_silver.identity)
    handles = [one.gold for one in known if one.gold is not None]
    if needed is None or not handles:
        raise ValueError(compiled.view.name)
    rows = read_tables(session, handles, named=_TABLE)
    before, after = feed.tables.around_key(needed.name)
    table = F.col(f"`{_TABLE}`")
    length = F.length(table) - len(before) - len(after)
    return rows.withColumn(KEY, F.substring(table, F.lit(len(before) + 1), length)).drop(_TABLE)
