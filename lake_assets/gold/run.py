"""A refresh from start to end: its turn, a Spark session, views brought up to date in order."""

import logging
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from time import perf_counter

from pyspark.sql import SparkSession

from lake_assets.delta.catalog import ensure_known, keys_of
from lake_assets.delta.log_history import identity
from lake_assets.delta.renamed_tables import (
    drop_tables,
    ensure_none_renamed,
    movable_tables,
    renamed_tables,
    superseded_tables,
)
from lake_assets.delta.table_owners import owner_of
from lake_assets.errors import FeedError, LakeAssetsError
from lake_assets.gold.keyed_refresh import refresh_keyed
from lake_assets.gold.refresh import refresh
from lake_assets.gold.refresh_need_of_tables import told_of_held
from lake_assets.gold.sql_views import refresh_sql_views
from lake_assets.gold.status import views_behind, views_waiting
from lake_assets.gold.view_turns import turn_of_views
from lake_assets.gold.window_refresh import refresh_windows
from lake_assets.logs.entries import Entry, entry_of_refresh
from lake_assets.logs.write import append
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import owner_of_view
from lake_assets.model.reports import RefreshReport
from lake_assets.model.tables import Layer
from lake_assets.model.view_order import in_order, readers_of
from lake_assets.settings.schema import Settings
from lake_assets.spark.lake_context import LakeContext, open_lake
from lake_assets.spark.lent_session import LendSpark, session_for
from lake_assets.state.lake_id import ensure_bound
from lake_assets.storage.open_store import lake_of

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Around:
    """What else is done in a refresh's Spark session."""

    before: Callable[[SparkSession, Sequence[str]], Mapping[str, str]]
    """Tells of some keys which must be left alone, and why."""

    after: Callable[[SparkSession, Sequence[RefreshReport]], None]
    """Is told what was done."""

    began: Callable[[GoldView], None] = lambda _: None
    """Is told of a view that is behind, before it is computed."""

    ended: Callable[[GoldView, RefreshReport], None] = lambda *_: None
    """Is told what came of each view."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Warm:
    """A Spark session that is there already, and the lake as it was opened for it."""

    session: SparkSession
    context: LakeContext
    seconds: float = 0.0
    """That its start took."""

    has_turn: bool = False
    """Whether whoever gives it has the turns of the views."""

    keep: Callable[[Sequence[Entry]], None] | None = None
    """Gets what is to be logged; by default it is committed to the log tables at once."""


def refresh_views(  # noqa: PLR0913 - what, which of it, and where
    settings: Settings,
    feed: Feed,
    *,
    views: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    full_refresh: bool = False,
    around: Around | None = None,
    warm: Warm | None = None,
    lend: LendSpark | None = None,
) -> list[RefreshReport]:
    """Bring gold views of a feed up to date, one report a view, each after those that it reads.

    Refreshes of one view take turns. Spark is started only if a view is behind. If one fails, those
    after it are left as they are.

    Args:
        settings: where the lake is.
        feed: whose views.
        views: their names; by default all, but not those over all keys if `keys` are named.
        keys: keys to look at; all the lake knows by default. Those whose silver did not change
            are left alone.
        full_refresh: compute all keys again, also those whose silver did not change.
        around: what else to do while Spark is there.
        warm: the session to use, with the lake as it was opened for it.
        lend: gives the session without it; by default one is started, and stopped at the end.

    Raises:
        FeedError: the feed has no such view or key, a view over all keys is asked for some, a
            view does not compile, or the lake has the feed's tables under other names; of gold
            they are dropped where all views and keys are computed again, unless one of them has
            the name that another is to have.
        LakeAssetsError: Spark or the lake cannot be used.
    """
    chosen = _choose_views(feed, views, keys)
    if not chosen:
        return []
    ensure_bound(settings)
    known = keys_of(lake_of(settings), feed)
    ensure_known(feed, known, keys or ())
    is_rebuild = full_refresh and not views and keys is None
    if is_rebuild:
        ensure_none_renamed(lake_of(settings), feed, Layer.SILVER)
        movable_tables(lake_of(settings), feed, Layer.GOLD)  # refuses those it cannot move
    else:
        ensure_none_renamed(lake_of(settings), feed, Layer.SILVER, Layer.GOLD)
    selected_keys = keys or known
    has_turn = warm is not None and warm.has_turn
    with nullcontext() if has_turn else turn_of_views(settings.state_dir, feed, chosen):
        behind = views_behind(settings, feed, views=[view.name for view in chosen])
        if not full_refresh and not any(
            set(behind[v.name]) & set(v.scopes(selected_keys)) for v in chosen
        ):
            lake, waiting = lake_of(settings), views_waiting(settings, feed)
            current = [key for key in selected_keys if identity(lake, feed.silver_table(key))]
            return [_nothing_new(view, current, waiting[view.name]) for view in chosen]
        with _warm(settings, lend) if warm is None else nullcontext(warm) as spark:
            due = {view.name for view in chosen if full_refresh or behind[view.name]}
            told = around and _told_of(due, around)
            reports = _refresh(spark, feed, chosen, selected_keys, told, full_refresh=full_refresh)
        if is_rebuild:
            _drop_renamed(settings, feed, reports)
        return reports


def _told_of(due: Collection[str], around: Around) -> Around:
    """The same, told of the beginning of these views alone."""

    def began(view: GoldView) -> None:
        if view.name in due:
            around.began(view)

    return replace(around, began=began)


def _drop_renamed(settings: Settings, feed: Feed, reports: Sequence[RefreshReport]) -> None:
    """Drop tables of former names, of what was computed under the new ones just now.

    One that something holds up stays until its turn: its new table may be there, and empty.
    """
    lake = lake_of(settings)
    views = [view for report in reports for view in report.refreshed]
    computed = {owner_of_view(feed, view.view, view.key) for view in views}
    superseded = superseded_tables(lake, renamed_tables(lake, feed, Layer.GOLD))
    drop_tables(lake, [table for table in superseded if owner_of(lake, table) in computed])


@contextmanager
def _warm(settings: Settings, lend: LendSpark | None) -> Iterator[Warm]:
    started = perf_counter()
    with session_for(settings, lend) as session:
        seconds = perf_counter() - started
        with open_lake(settings, session) as context:
            yield Warm(session=session, context=context, seconds=seconds)


def _refresh(
    warm: Warm,
    feed: Feed,
    views: Sequence[GoldView],
    keys: Sequence[str],
    around: Around | None,
    *,
    full_refresh: bool,
) -> list[RefreshReport]:
    session, context = warm.session, warm.context
    blocked = around.before(session, keys) if around else {}
    reports: list[RefreshReport] = []
    held: dict[str, Mapping[str, str]] = {}
    for view in views:
        if around:
            around.began(view)
        with _with_readers(feed, view, views):
            refresh_one = _refresh_one(view)
            report = refresh_one(
                session, feed, view, keys, context, blocked, full_refresh=full_refresh
            )
        if around:
            around.ended(view, report)
        reports.append(replace(told_of_held(view, report, held), view=view.name))
        held[view.name] = reports[-1].blocked
    reports = [report.with_seconds("session", warm.seconds) for report in reports]
    _log(warm, feed, reports)
    if around:
        around.after(session, reports)
    return reports


def _log(warm: Warm, feed: Feed, reports: Sequence[RefreshReport]) -> None:
    now = datetime.now(UTC)
    logged = (entry_of_refresh(report, feed, now) for report in reports)
    entries = [entry for entry in logged if entry]
    if warm.keep is None:
        append(warm.context, entries)
    else:
        warm.keep(entries)


@contextmanager
def _with_readers(feed: Feed, view: GoldView, views: Sequence[GoldView]) -> Iterator[None]:
    """Tell, with what goes wrong with a view, which views stay as they are because they read it."""
    try:
        yield
    except LakeAssetsError as problem:
        readers = ", ".join(readers_of(feed, view.name, views))
        if readers:
            _LOG.warning(
                "%s stay as they are: %s, which they read, cannot be refreshed (%s)",
                readers,
                view.name,
                problem,
            )
        raise


def _nothing_new(view: GoldView, keys: Sequence[str], waiting: Mapping[str, str]) -> RefreshReport:
    scopes = view.scopes(keys) if keys or (view.is_over_all and view.reads_more) else ()
    return RefreshReport(
        refreshed=(),
        up_to_date=tuple((scope, view.name) for scope in scopes if scope not in waiting),
        blocked={scope: waiting[scope] for scope in scopes if scope in waiting},
        view=view.name,
    )


def _refresh_one(view: GoldView) -> Callable[..., RefreshReport]:
    if view.sql is not None:
        return refresh_sql_views
    if view.keyed is not None:
        return refresh_keyed
    return refresh if view.windows is None else refresh_windows


def _choose_views(
    feed: Feed, names: Sequence[str] | None, keys: Sequence[str] | None
) -> list[GoldView]:
    by_name = {view.name: view for view in feed.gold}
    missing = [name for name in names or () if name not in by_name]
    if missing:
        raise FeedError(
            f"feed {feed.feed!r}",
            f"has no gold view {missing[0]!r}",
            f"It has {', '.join(by_name) or 'none'}",
        )
    if not names:
        chosen = [view for view in feed.gold if keys is None or not view.is_over_all]
        return in_order(feed, chosen)
    over_all = [name for name in names if by_name[name].is_over_all]
    if over_all and keys is not None:
        fact = "is over all keys, and only some are asked for"
        raise FeedError(f"gold view {over_all[0]!r}", fact, "Leave the keys out")
    return in_order(feed, (by_name[name] for name in names))
