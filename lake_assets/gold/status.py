"""Which gold views are behind their silver, by Delta logs alone: cheap enough for every tick."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from deltalake.exceptions import DeltaError

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.log_history import committed_at, identity, newest_info, open_table, rows_of
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError, first_line
from lake_assets.gold.quality_gate import blocked_keys
from lake_assets.gold.refresh_need import Silver, definition_of, is_behind
from lake_assets.gold.refresh_need_all import held_up_by, is_all_behind, unread
from lake_assets.model.failures import Failures
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.settings.schema import Settings
from lake_assets.spark.session_digest import session_digest
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class _Standing:
    """A table that is behind its silver."""

    view: str
    scope: str
    """A key, or `EVERY_KEY`."""

    unread: tuple[str, ...]
    """Keys whose silver a refresh would bring in."""

    lacking: Mapping[str, int]
    """By key, the first silver version that the table lacks; where silver has moved on."""


def views_behind(
    settings: Settings, feed: Feed, failures: Failures | None = None
) -> dict[str, tuple[str, ...]]:
    """By view of the feed, the keys whose silver has moved on since its last refresh.

    Of a view over all keys that is `EVERY_KEY`. What something blocking among `failures` holds
    up is left out.

    Raises:
        LakeError: a table's log cannot be read.
    """
    silver = _silver_now(lake_of(settings), feed)
    blocked = blocked_keys(feed, failures or {}, _versions_of(silver))
    behind: dict[str, tuple[str, ...]] = {view.name: () for view in feed.gold}
    for standing in _standings(settings, feed, silver):
        if held_up_by(standing.unread, blocked) is None:
            behind[standing.view] += (standing.scope,)
    return behind


def other_definitions(settings: Settings, feed: Feed, view: GoldView) -> frozenset[str]:
    """By which declarations of a view, other than this one, its tables are computed now.

    Raises:
        LakeError: a table's log cannot be read.
    """
    lake, own = lake_of(settings), definition_of(view, session_digest(settings))
    with _reading(lake):
        infos = [
            newest_info(lake, feed.gold_table(view, scope))
            for scope in view.scopes(keys_of(lake, feed))
        ]
    positions = [
        PositionOfAll.of(info) if view.is_over_all else position_from(info) for info in infos
    ]
    return frozenset(p.definition for p in positions if p is not None) - {own}


def never_computed(settings: Settings, feed: Feed, failures: Failures) -> tuple[str, ...]:
    """The views without any table, though silver has rows for them that nothing holds up.

    Costs a look into a folder a view, once all views have tables.

    Raises:
        LakeError: a table's log cannot be read.
    """
    lake = lake_of(settings)
    missing = [view for view in feed.gold if not _has_table(lake, feed, view)]
    if not missing or not any(
        _has_rows(lake, feed.silver_table(key)) for key in keys_of(lake, feed)
    ):
        return ()
    behind = views_behind(settings, feed.model_copy(update={"gold": tuple(missing)}), failures)
    return tuple(name for name, scopes in behind.items() if scopes)


def _has_table(lake: Store, feed: Feed, view: GoldView) -> bool:
    tables = (feed.gold_table(view, scope) for scope in view.scopes(keys_of(lake, feed)))
    return any(log_of(lake, table).exists() for table in tables)


def _has_rows(lake: Store, silver: TableRef) -> bool:
    with _reading(lake):
        handle = open_table(lake, silver)
        return handle is not None and rows_of(handle) > 0


def keys_unread(settings: Settings, feed: Feed, failures: Failures) -> frozenset[str]:
    """The keys whose silver has something new for a view, and which nothing holds up.

    Raises:
        LakeError: a table's log cannot be read.
    """
    silver = _silver_now(lake_of(settings), feed)
    blocked = blocked_keys(feed, failures, _versions_of(silver))
    unread_keys = {
        key for standing in _standings(settings, feed, silver) for key in standing.unread
    }
    return frozenset(unread_keys - blocked.keys())


def behind_since(settings: Settings, feed: Feed) -> dict[str, Mapping[str, float]]:
    """By view and key, since when silver has had something that the view lacks.

    The time is that of silver's first commit after the one that the view stands for, or 0 if the
    log has forgotten it; seconds since 1970. Of a view over all keys it is that of the key that
    waits longest. A view that only its definition puts behind is left out, since nothing tells when
    that changed.

    Raises:
        LakeError: a table's log cannot be read.
    """
    since: dict[str, dict[str, float]] = {view.name: {} for view in feed.gold}
    lake = lake_of(settings)
    silver = _silver_now(lake, feed)
    for standing in _standings(settings, feed, silver):
        times = [
            committed_at(lake, feed.silver_table(key), version) or 0.0
            for key, version in standing.lacking.items()
        ]
        if times:
            since[standing.view][standing.scope] = min(times)
    return dict(since)


def needed_since(settings: Settings, feed: Feed) -> dict[str, dict[str, float]]:
    """By key and view, the time since when the view needs silver's versions to go on from them.

    That is of silver's first commit after the one that the view stands for; a view that is up to
    date, or is computed anew anyway, needs none. Seconds since 1970.

    Raises:
        LakeError: a table's log cannot be read.
    """
    lake = lake_of(settings)
    needed: dict[str, dict[str, float]] = {}
    for standing in _standings(settings, feed, _silver_now(lake, feed)):
        for key, version in standing.lacking.items():
            at = committed_at(lake, feed.silver_table(key), version) if version else None
            if at is not None:
                needed.setdefault(key, {})[standing.view] = at
    return needed


def _silver_now(lake: Store, feed: Feed) -> dict[str, Silver]:
    """By key of the feed, its silver; keys without silver are absent."""
    with _reading(lake):
        snapshots = {key: _silver(lake, feed.silver_table(key)) for key in keys_of(lake, feed)}
    return {key: silver for key, silver in snapshots.items() if silver}


def _silver(lake: Store, table: TableRef) -> Silver | None:
    table_identity = identity(lake, table)
    if table_identity is None:
        return None
    version, table_id = table_identity
    commit = commit_digest(log_of(lake, table), version) or ""
    return Silver(version=version, table=table_id, commit=commit)


def _versions_of(silver: Mapping[str, Silver]) -> dict[str, int]:
    return {key: snapshot.version for key, snapshot in silver.items()}


def _standings(settings: Settings, feed: Feed, silver: Mapping[str, Silver]) -> list[_Standing]:
    """The tables that are behind."""
    lake, session = lake_of(settings), session_digest(settings)
    definitions = {view.name: definition_of(view, session) for view in feed.gold}
    with _reading(lake):
        standings = [
            _of_all(lake, feed, view, definitions[view.name], silver)
            if scope == EVERY_KEY
            else _of_key(lake, feed, view, scope, definitions[view.name], silver[scope])
            for view in feed.gold
            for scope in view.scopes(silver)
        ]
    return [standing for standing in standings if standing is not None]


def _of_key(
    lake: Store, feed: Feed, view: GoldView, key: str, definition: str, silver: Silver
) -> _Standing | None:
    position = position_from(newest_info(lake, feed.gold_table(view, key)))
    if not is_behind(definition, silver, position):
        return None
    first = position.silver_version + 1 if position else 0
    lacking = {key: first} if first <= silver.version else {}
    return _Standing(view=view.name, scope=key, unread=(key,), lacking=lacking)


def _of_all(
    lake: Store, feed: Feed, view: GoldView, definition: str, silver: Mapping[str, Silver]
) -> _Standing | None:
    position = PositionOfAll.of(newest_info(lake, feed.gold_table(view, EVERY_KEY)))
    if not is_all_behind(definition, silver, position):
        return None
    known = position.versions if position else {}
    firsts = {key: known.get(key, -1) + 1 for key in silver}
    return _Standing(
        view=view.name,
        scope=EVERY_KEY,
        unread=unread(definition, silver, position),
        lacking={key: first for key, first in firsts.items() if first <= silver[key].version},
    )


@contextmanager
def _reading(lake: Store) -> Iterator[None]:
    try:
        yield
    except (DeltaError, OSError) as problem:
        raise LakeError(
            str(lake.root),
            f"a table's log cannot be read ({first_line(problem)})",
            "Check the folder and the disk",
        ) from problem
