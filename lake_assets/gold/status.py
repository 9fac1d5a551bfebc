"""Which gold views are behind what they read, by Delta logs alone: cheap enough for every tick."""

from collections.abc import Collection, Mapping

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.log_history import committed_at, newest_info, open_table, rows_of
from lake_assets.delta.refresh_position import DEFINITION
from lake_assets.delta.refresh_position_of_tables import PositionOfTables
from lake_assets.delta.table_log import log_of
from lake_assets.gold.quality_gate import blocked_keys
from lake_assets.gold.refresh_need import Silver, definition_of
from lake_assets.gold.refresh_need_all import held_up_by
from lake_assets.gold.refresh_need_of_tables import followers, waits_for
from lake_assets.gold.standings import TablesNow, reading, silver_now, standings_of
from lake_assets.model.failures import Failures
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import TableRef
from lake_assets.model.view_order import in_order
from lake_assets.settings.schema import Settings
from lake_assets.spark.session_digest import session_digest
from lake_assets.state.failing_expectations import failures_of_tables
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


def views_behind(
    settings: Settings,
    feed: Feed,
    failures: Failures | None = None,
    *,
    views: Collection[str] | None = None,
) -> dict[str, tuple[str, ...]]:
    """By view of the feed, the keys for which what it reads has moved on since its last refresh.

    Of a view over all keys that is `EVERY_KEY`. A view that reads another one of these is behind
    where that is: it will be, once that is refreshed. What something blocking among `failures`
    holds up is left out.

    Args:
        settings: where the lake is.
        feed: whose views.
        failures: what fails; None to leave nothing out.
        views: names of those that are refreshed together; all by default.

    Raises:
        FeedError: a view reads a feed or a view that is not declared.
        LakeError: a table's log cannot be read.
        TableOwnedError: a table that a view reads is another feed's, key's or view's.
    """
    asked = [view for view in feed.gold if views is None or view.name in views]
    lake = lake_of(settings)
    silver = silver_now(lake, feed)
    blocked: Mapping[str, str] = {}
    if failures is not None:
        blocked = blocked_keys(feed, failures, _versions_of(silver))
        blocked = {**blocked, **blocked_of_others(settings, feed)}
    behind: dict[str, tuple[str, ...]] = {view.name: () for view in asked}
    for standing in standings_of(settings, feed, silver, asked):
        is_held = standing.scope in blocked or held_up_by(standing.unread, blocked) is not None
        if not is_held:
            behind[standing.view] += (standing.scope,)
    for view in in_order(feed, asked):
        scopes = [scope for scope in view.scopes(silver) if scope not in blocked]
        own = behind[view.name]
        more = [scope for scope in followers(view, scopes, behind) if scope not in own]
        behind[view.name] = (*own, *more)
    return behind


def blocked_of_others(settings: Settings, feed: Feed) -> dict[str, str]:
    """By `feed.key` of other feeds that its views read, what holds that key up, in words.

    It is what was found last: nothing is checked again for it.

    Raises:
        LakeError: a table's log cannot be read.
    """
    names = {source.feed for view in feed.gold for source in view.sources if source.feed}
    blocked: dict[str, str] = {}
    for other in (feed.feed_of(name) for name in sorted(names)):
        fill = (other.feed, *(each.feed for each in feed.others if each.into == other.feed))
        failures = failures_of_tables(settings.state_dir, fill)
        if failures:
            versions = _versions_of(silver_now(lake_of(settings), other))
            found = blocked_keys(other, failures, versions)
            blocked |= {f"{other.feed}.{key}": reason for key, reason in found.items()}
    return blocked


def views_waiting(settings: Settings, feed: Feed) -> dict[str, dict[str, str]]:
    """By view and key (or `EVERY_KEY`), what it waits for that it reads and that is not there.

    Raises:
        LakeError: a table's log cannot be read.
    """
    lake = lake_of(settings)
    waiting: dict[str, dict[str, str]] = {view.name: {} for view in feed.gold}
    with reading(lake):
        silver, tables = silver_now(lake, feed), TablesNow(lake, feed)
        for view in feed.gold:
            for scope in view.scopes(silver) if view.reads_more else ():
                position = PositionOfTables.of(newest_info(lake, feed.gold_table(view, scope)))
                reason = waits_for(tables.reads(view, scope), position)
                if reason is not None:
                    waiting[view.name][scope] = reason
    return waiting


def other_definitions(settings: Settings, feed: Feed, view: GoldView) -> frozenset[str]:
    """By which declarations of a view, other than this one, its tables are computed now.

    Raises:
        LakeError: a table's log cannot be read.
    """
    lake, own = lake_of(settings), definition_of(view, session_digest(settings))
    with reading(lake):
        infos = [
            newest_info(lake, feed.gold_table(view, scope))
            for scope in view.scopes(keys_of(lake, feed))
        ]
    return frozenset(info[DEFINITION] for info in infos if DEFINITION in info) - {own}


def never_computed(settings: Settings, feed: Feed, failures: Failures) -> tuple[str, ...]:
    """The views without any table, though silver has rows for them that nothing holds up.

    Costs a look into a folder a view, once all views have tables.

    Raises:
        LakeError: a table's log cannot be read.
    """
    lake = lake_of(settings)
    missing = [view.name for view in feed.gold if not _has_table(lake, feed, view)]
    if not missing or not any(
        _has_rows(lake, feed.silver_table(key)) for key in keys_of(lake, feed)
    ):
        return ()
    behind = views_behind(settings, feed, failures, views=missing)
    return tuple(name for name, scopes in behind.items() if scopes)


def _has_table(lake: Store, feed: Feed, view: GoldView) -> bool:
    tables = (feed.gold_table(view, scope) for scope in view.scopes(keys_of(lake, feed)))
    return any(log_of(lake, table).exists() for table in tables)


def _has_rows(lake: Store, silver: TableRef) -> bool:
    with reading(lake):
        handle = open_table(lake, silver)
        return handle is not None and rows_of(handle) > 0


def keys_unread(settings: Settings, feed: Feed, failures: Failures) -> frozenset[str]:
    """The keys which have something new for a view, and which nothing holds up.

    Raises:
        LakeError: a table's log cannot be read.
    """
    silver = silver_now(lake_of(settings), feed)
    blocked = blocked_keys(feed, failures, _versions_of(silver))
    unread_keys = {
        key for standing in standings_of(settings, feed, silver) for key in standing.unread
    }
    return frozenset(unread_keys & silver.keys() - blocked.keys())


def behind_since(settings: Settings, feed: Feed) -> dict[str, Mapping[str, float]]:
    """By view and key, since when what it reads has had something that the view lacks.

    The time is that of the first commit of silver, or of what else it reads, after the one that the
    view stands for, or 0 if the log has forgotten it; seconds since 1970. Of a view over all keys
    it is that of the key that waits longest. A view that only its definition puts behind is left
    out, since nothing tells when that changed.

    Raises:
        LakeError: a table's log cannot be read.
    """
    since: dict[str, dict[str, float]] = {view.name: {} for view in feed.gold}
    lake = lake_of(settings)
    silver = silver_now(lake, feed)
    for standing in standings_of(settings, feed, silver):
        times = [
            committed_at(lake, table, version) or 0.0 for table, version in standing.lacking.items()
        ]
        if times:
            since[standing.view][standing.scope] = min(times)
    return dict(since)


def needed_since(settings: Settings, feed: Feed) -> dict[TableRef, dict[str, float]]:
    """By silver table and view, the time since when the view needs its versions to go on from them.

    That is of silver's first commit after the one that the view stands for; a view that is up to
    date, or is computed anew anyway, needs none. Nor does one that reads other views or feeds: it
    is computed from the newest versions, and its position only tells them from those that it read.
    Seconds since 1970.

    Raises:
        LakeError: a table's log cannot be read.
    """
    lake = lake_of(settings)
    needed: dict[TableRef, dict[str, float]] = {}
    views = [view for view in feed.gold if not view.reads_more]
    for standing in standings_of(settings, feed, silver_now(lake, feed), views):
        for table, version in standing.lacking.items():
            at = committed_at(lake, table, version) if version else None
            if at is not None:
                needed.setdefault(table, {})[standing.view] = at
    return needed


def _versions_of(silver: Mapping[str, Silver]) -> dict[str, int]:
    return {key: snapshot.version for key, snapshot in silver.items()}
