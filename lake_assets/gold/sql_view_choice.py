"""Which tables of a view in free SQL a refresh computes, and from which versions of what.

How they are computed is `gold.sql_view`'s.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from lake_assets.delta.commit_digest import commit_digest
from lake_assets.delta.log_history import last_info, open_table
from lake_assets.delta.refresh_position import position_from
from lake_assets.delta.refresh_position_all import PositionOfAll
from lake_assets.delta.refresh_position_of_tables import PositionOfTables
from lake_assets.delta.table_log import log_of
from lake_assets.delta.table_owners import claim
from lake_assets.errors import LakeError, first_line
from lake_assets.gold.query_tables import QueryTable, QueryTables
from lake_assets.gold.refresh_need import Silver, definition_of, info_of, is_behind
from lake_assets.gold.refresh_need_all import held_up_by, is_all_behind, position_now, unread
from lake_assets.gold.refresh_need_of_tables import (
    ReadTable,
    is_behind_tables,
    position_of_tables,
    unread_tables,
    waits_for,
)
from lake_assets.gold.source_rows import SourceRows, columns_of_source
from lake_assets.gold.sql_view import SqlViewInput
from lake_assets.gold.usable_tables import ensure_refreshable
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import owner_of_view
from lake_assets.model.queries import QuerySource
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.spark.lake_context import LakeContext


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What a refresh is to do."""

    sources: Sequence[SqlViewInput]
    """Of the tables to compute."""

    current: Sequence[str]
    """Scopes that are up to date."""

    held: Mapping[str, str]
    """By scope that must be left alone, why."""

    silver: Mapping[str, int]
    """By key whose silver the view reads, its version."""


def choose(
    feed: Feed,
    view: GoldView,
    keys: Sequence[str],
    context: LakeContext,
    blocked: Mapping[str, str],
    *,
    full_refresh: bool,
) -> Choice:
    """Decide what a refresh of a view does for keys; as `gold.sql_views.refresh_sql_views`."""
    opened = _Opened(feed, view, context)
    definition = definition_of(view, context.session)
    own = opened.silver()
    is_over_others = view.is_over_all and view.reads_more
    scopes = view.scopes(key for key in keys if key in own) if own or is_over_others else ()
    for scope in scopes:
        claim(context.lake, feed.gold_table(view, scope), owner_of_view(feed, view.name, scope))
    sources: list[SqlViewInput] = []
    current: list[str] = []
    held: dict[str, str] = {}
    for scope in scopes:
        table = feed.gold_table(view, scope)
        gold = open_table(context.lake, table)
        info = last_info(gold) if gold else {}
        need = _need(view, scope, definition, info, opened, full_refresh=full_refresh)
        if need.waits is not None:
            held[scope] = need.waits
        elif not need.is_wanting:
            current.append(scope)
        elif (reason := blocked.get(scope) or held_up_by(need.reads, blocked)) is not None:
            held[scope] = reason
        else:
            rows = tuple(opened.rows(scope))
            ensure_refreshable((h for each in rows for h in each.handles), [gold])
            sources.append(SqlViewInput(scope=scope, table=table, sources=rows, info=need.info))
    versions = {key: silver.version for key, silver in own.items()}
    is_read = QuerySource(is_of_key=True) in view.sources
    return Choice(sources=sources, current=current, held=held, silver=versions if is_read else {})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Need:
    """What is to become of one table."""

    is_wanting: bool
    reads: tuple[str, ...]
    """Keys whose rows a refresh would bring in."""

    info: Mapping[str, str]
    """For the commit."""

    waits: str | None = None


def _need(
    view: GoldView,
    scope: str,
    definition: str,
    info: Mapping[str, str],
    opened: "_Opened",
    *,
    full_refresh: bool,
) -> _Need:
    own = opened.silver()
    if view.reads_more:
        position = PositionOfTables.of(info)
        reads = opened.reads(scope)
        unread_ = reads if full_refresh else unread_tables(definition, reads, position)
        return _Need(
            is_wanting=full_refresh or is_behind_tables(definition, reads, position),
            reads=tuple(read.key for read in unread_),
            info=_info(view, scope, definition, own) | position_of_tables(definition, reads).info,
            waits=waits_for(reads, None if full_refresh else position),
        )
    if scope == EVERY_KEY:
        of_all = PositionOfAll.of(info)
        return _Need(
            is_wanting=full_refresh or is_all_behind(definition, own, of_all),
            reads=tuple(own) if full_refresh else unread(definition, own, of_all),
            info=_info(view, scope, definition, own),
        )
    return _Need(
        is_wanting=full_refresh or is_behind(definition, own[scope], position_from(info)),
        reads=(scope,),
        info=_info(view, scope, definition, own),
    )


def _info(view: GoldView, scope: str, definition: str, own: Mapping[str, Silver]) -> dict[str, str]:
    """Which silver of its own feed a table stands for, if the view reads that."""
    if scope == EVERY_KEY:
        return position_now(definition, own).info if QuerySource() in view.sources else {}
    reads_it = QuerySource(is_of_key=True) in view.sources
    return info_of(definition, own[scope]) if reads_it else {}


class _Opened:
    """The tables that a view reads, each opened once, so that all tables are of the same."""

    def __init__(self, feed: Feed, view: GoldView, context: LakeContext) -> None:
        self._context = context
        self._view = view
        self._tables = QueryTables(context.lake, feed)
        self._handles: dict[TableRef, DeltaTable | None] = {}
        self._versions: dict[TableRef, Silver | None] = {}
        self._columns: dict[QuerySource, pa.Schema] = {}

    def silver(self) -> dict[str, Silver]:
        """By key of the feed, its silver; keys without silver are absent."""
        found = self._tables.of_source(QuerySource())
        now = {each.key: self._version(each.table) for each in found}
        return {key: silver for key, silver in now.items() if silver is not None}

    def reads(self, scope: str) -> list[ReadTable]:
        """The tables that a table of the view is computed from."""
        return [
            ReadTable(source=source, table=each.table, key=each.key, now=self._version(each.table))
            for source, each in self._tables.of_view(self._view, scope)
        ]

    def rows(self, scope: str) -> Iterator[SourceRows]:
        """The same, as they are read."""
        found = self._tables.of_view(self._view, scope)
        for source in self._view.sources:
            handles = self._there(each for whose, each in found if whose == source)
            if source not in self._columns:
                of_all = self._there(self._tables.of_source(source))
                self._columns[source] = columns_of_source(of_all)
            yield SourceRows(source=source, handles=handles, columns=self._columns[source])

    def _there(self, tables: Iterable[QueryTable]) -> tuple[DeltaTable, ...]:
        handles = (self._handle(each.table) for each in tables)
        return tuple(handle for handle in handles if handle is not None)

    def _handle(self, table: TableRef) -> DeltaTable | None:
        if table not in self._handles:
            try:
                self._handles[table] = open_table(self._context.lake, table)
            except DeltaError as problem:
                place = table.outside or table.name
                fact = f"cannot be opened ({first_line(problem)})"
                raise LakeError(place, fact, "See to the table") from problem
        return self._handles[table]

    def _version(self, table: TableRef) -> Silver | None:
        if table not in self._versions:
            handle = self._handle(table)
            self._versions[table] = None if handle is None else self._silver(table, handle)
        return self._versions[table]

    def _silver(self, table: TableRef, handle: DeltaTable) -> Silver:
        version = handle.version()
        commit = commit_digest(log_of(self._context.committer.store, table), version)
        return Silver(version=version, table=str(handle.metadata().id), commit=commit or "")
