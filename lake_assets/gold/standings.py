"""Where each table of a feed's views stands beside what it reads, by Delta logs alone.

What is asked about that is `gold.status`'.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from deltalake.exceptions import DeltaError

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.log_history import identity, newest_info
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.refresh_position_of_tables import PositionOfTables
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError, first_line
from lake_assets.gold.query_tables import QueryTables
from lake_assets.gold.refresh_need import Silver, definition_of, is_behind
from lake_assets.gold.refresh_need_all import is_all_behind, unread
from lake_assets.gold.refresh_need_of_tables import (
    ReadTable,
    first_lacking,
    is_behind_tables,
    unread_tables,
)
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.settings.schema import Settings
from lake_assets.spark.session_digest import session_digest
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """A table that is behind its silver."""

    view: str
    scope: str
    """A key, or `EVERY_KEY`."""

    unread: tuple[str, ...]
    """Keys whose rows a refresh would bring in; as `ReadTable.key`."""

    lacking: Mapping[TableRef, int]
    """By table that it reads, the first version that it lacks; where that has moved on."""


def silver_now(lake: Store, feed: Feed) -> dict[str, Silver]:
    """By key of the feed, its silver; keys without silver are absent.

    Raises:
        LakeError: a table's log cannot be read.
    """
    with reading(lake):
        snapshots = {key: _silver(lake, feed.silver_table(key)) for key in keys_of(lake, feed)}
    return {key: silver for key, silver in snapshots.items() if silver}


def _silver(lake: Store, table: TableRef) -> Silver | None:
    table_identity = identity(lake, table)
    if table_identity is None:
        return None
    version, table_id = table_identity
    commit = commit_digest(log_of(lake, table), version) or ""
    return Silver(version=version, table=table_id, commit=commit)


class TablesNow:
    """What views read, as it is now; each table is looked at once."""

    def __init__(self, lake: Store, feed: Feed) -> None:
        """Look at nothing yet."""
        self._lake = lake
        self._tables = QueryTables(lake, feed)
        self._now: dict[TableRef, Silver | None] = {}

    def reads(self, view: GoldView, scope: str) -> list[ReadTable]:
        """The tables that a table of a view is computed from."""
        found = self._tables.of_view(view, scope)
        for _, each in found:
            if each.table not in self._now:
                self._now[each.table] = _silver(self._lake, each.table)
        return [
            ReadTable(source=source, table=each.table, key=each.key, now=self._now[each.table])
            for source, each in found
        ]


def standings_of(
    settings: Settings,
    feed: Feed,
    silver: Mapping[str, Silver],
    views: Iterable[GoldView] | None = None,
) -> list[Standing]:
    """The tables that are behind, of all views by default.

    Raises:
        FeedError: a view reads a feed or a view that is not declared.
        LakeError: a table's log cannot be read.
        TableOwnedError: a table that a view reads is another feed's, key's or view's.
    """
    lake, session = lake_of(settings), session_digest(settings)
    tables = TablesNow(lake, feed)
    found: list[Standing | None] = []
    with reading(lake):
        for view in feed.gold if views is None else views:
            definition = definition_of(view, session)
            for scope in view.scopes(silver):
                info = newest_info(lake, feed.gold_table(view, scope))
                if view.reads_more:
                    reads = tables.reads(view, scope)
                    found.append(_of_tables(view, scope, definition, reads, info))
                elif scope == EVERY_KEY:
                    found.append(_of_all(feed, view, definition, silver, info))
                else:
                    found.append(_of_key(feed, view, scope, definition, silver[scope], info))
    return [standing for standing in found if standing is not None]


def _of_key(
    feed: Feed, view: GoldView, key: str, definition: str, silver: Silver, info: Mapping[str, str]
) -> Standing | None:
    position = position_from(info)
    if not is_behind(definition, silver, position):
        return None
    first = position.silver_version + 1 if position else 0
    lacking = {feed.silver_table(key): first} if first <= silver.version else {}
    return Standing(view=view.name, scope=key, unread=(key,), lacking=lacking)


def _of_all(
    feed: Feed,
    view: GoldView,
    definition: str,
    silver: Mapping[str, Silver],
    info: Mapping[str, str],
) -> Standing | None:
    position = PositionOfAll.of(info)
    if not is_all_behind(definition, silver, position):
        return None
    known = position.versions if position else {}
    firsts = {key: known.get(key, -1) + 1 for key in silver}
    return Standing(
        view=view.name,
        scope=EVERY_KEY,
        unread=unread(definition, silver, position),
        lacking={
            feed.silver_table(key): first
            for key, first in firsts.items()
            if first <= silver[key].version
        },
    )


def _of_tables(
    view: GoldView,
    scope: str,
    definition: str,
    reads: Sequence[ReadTable],
    info: Mapping[str, str],
) -> Standing | None:
    position = PositionOfTables.of(info)
    if not is_behind_tables(definition, reads, position):
        return None
    return Standing(
        view=view.name,
        scope=scope,
        unread=tuple(read.key for read in unread_tables(definition, reads, position)),
        lacking=first_lacking(reads, position),
    )


@contextmanager
def reading(lake: Store) -> Iterator[None]:
    """What goes wrong while logs are read, as an error of the lake."""
    try:
        yield
    except (DeltaError, OSError) as problem:
        raise LakeError(
            str(lake.root),
            f"a table's log cannot be read ({first_line(problem)})",
            "Check the folder and the disk",
        ) from problem
