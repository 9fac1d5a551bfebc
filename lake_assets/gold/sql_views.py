"""Refreshing views in free SQL: recomputed in full, one query for each table that is behind.

Nothing is known of such a query, so no job can compute it for many keys at once: Spark plans and
runs it a key, a few beside each other. A query over all keys is one plan. Where keys are many, a
view of keys and measures (`gold.refresh`) costs far less.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

from lake_assets.delta.log_history import rows_of
from lake_assets.gold.sql_view import SqlViewInput, SqlViewQuery, SqlViewResult, compute
from lake_assets.gold.sql_view_choice import choose
from lake_assets.gold.view_expectations import ensure_none_fails, judged_of
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import owner_of_view
from lake_assets.model.reports import Judged, RefreshReport, ViewRefresh
from lake_assets.spark.lake_context import LakeContext

_AT_ONCE = 4
"""Queries under way at once: one's job runs while another is planned. Each task of each of them
may hold `stream.buffer_bytes`, so they are not many."""


def refresh_sql_views(  # noqa: PLR0913 - where, what, and which of it
    session: SparkSession,
    feed: Feed,
    view: GoldView,
    keys: Sequence[str],
    context: LakeContext,
    blocked: Mapping[str, str] | None = None,
    *,
    full_refresh: bool = False,
) -> RefreshReport:
    """Bring a view in free SQL up to date, as `gold.refresh.refresh` does one of measures.

    A view over all keys reads whatever the lake has, not only the `keys` asked for, and is left
    alone while one of those that it would read again is `blocked`.

    Raises:
        ExpectationFailedError: rows violate an expectation of the view that fails; none of the
            view's tables is changed.
        FeedError: the query or an expectation does not compile, fails, or gives columns that a
            table cannot have; none of the view's tables is changed.
        LakeError: the lake cannot be read or written.
        TableOwnedError: a table of the view, or one that it reads, is there, and is another feed's,
            key's or view's.
    """
    started = perf_counter()
    choice = choose(feed, view, keys, context, blocked or {}, full_refresh=full_refresh)
    planned = perf_counter()
    computed = _compute(session, feed, view, choice.sources, context)
    try:
        judged = _judged(view, computed)
    except BaseException:
        _discard(computed)
        raise
    done = perf_counter()
    _commit(feed, view, context, computed)
    return RefreshReport(
        refreshed=tuple(_refreshed(view, result, choice.silver) for result in computed),
        up_to_date=tuple((scope, view.name) for scope in choice.current),
        judged=judged,
        blocked=choice.held,
        seconds={
            "plan": planned - started,
            "job": done - planned,
            "commit": perf_counter() - done,
        },
    )


def _compute(
    session: SparkSession,
    feed: Feed,
    view: GoldView,
    sources: Sequence[SqlViewInput],
    context: LakeContext,
) -> list[SqlViewResult]:
    """All sources' rows, in their order; if one cannot be computed, nothing is left of any."""
    if not sources:
        return []
    query = SqlViewQuery(
        feed=feed,
        view=view,
        lake=context.lake,
        buffer_bytes=context.buffer_bytes,
    )
    at_once = min(_AT_ONCE, context.refresh_tasks or _AT_ONCE)
    with ThreadPoolExecutor(at_once, thread_name_prefix="view") as pool:
        # In the job group and the scheduler's pool of whoever asked.
        run = inheritable_thread_target(session)(compute)
        futures = [pool.submit(run, session, query, source) for source in sources]
        try:
            return [future.result() for future in futures]
        except BaseException:
            for future in futures:
                future.cancel()
            pool.shutdown()
            done = (f for f in futures if not f.cancelled() and f.exception() is None)
            _discard([future.result() for future in done])
            raise


def _judged(view: GoldView, computed: Sequence[SqlViewResult]) -> dict[tuple[str, str], Judged]:
    judged: dict[tuple[str, str], Judged] = {}
    for result in computed:
        judged |= judged_of(result.left.notes, view, [result.source.scope])
    ensure_none_fails(judged, view)
    return judged


def _discard(computed: Sequence[SqlViewResult]) -> None:
    for result in computed:
        result.discard()


def _commit(
    feed: Feed, view: GoldView, context: LakeContext, computed: Sequence[SqlViewResult]
) -> None:
    context.committer.create(
        {result.source.table: result.schema for result in computed},
        owners={
            result.source.table: owner_of_view(feed, view.name, result.source.scope)
            for result in computed
        },
    )
    if computed:
        # All were computed from the same columns, so they have the same ones.
        context.committer.replace([result.commit for result in computed], computed[0].schema)


def _refreshed(view: GoldView, one: SqlViewResult, silver: Mapping[str, int]) -> ViewRefresh:
    written = one.left.written.get(0)
    return ViewRefresh(
        key=one.source.scope,
        view=view.name,
        rows=written.rows if written else 0,
        silver_version=silver.get(one.source.scope),
        files=len(written.files) if written else 0,
        why="a query is recomputed in full",
        rows_read=sum(rows_of(handle) for handle in one.source.handles),
        rows_written=written.rows if written else 0,
    )
