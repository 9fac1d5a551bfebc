"""The tables that a query's names stand for, in a lake as it is now. Reads logs only.

What the names mean is `model.queries`', what follows from how the tables are
`gold.refresh_need_of_tables`'.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.table_owners import owner_of
from lake_assets.errors import LakeError, TableOwnedError
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner, owner_of_view
from lake_assets.model.queries import QuerySource
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.storage.store import Store


class QueryTable(NamedTuple):
    """A table that a query may read; it may not be there."""

    table: TableRef
    key: str
    """As `ReadTable.key`."""


class QueryTables:
    """What the views of a feed read, looked up once."""

    def __init__(self, lake: Store, feed: Feed) -> None:
        """Look up nothing yet."""
        self._lake = lake
        self._feed = feed
        self._keys: dict[str, tuple[str, ...]] = {}

    def of_view(self, view: GoldView, scope: str) -> list[tuple[QuerySource, QueryTable]]:
        """What the table of a view for a key, or for `EVERY_KEY`, is computed from.

        Raises:
            FeedError: the view reads a feed or a view that is not declared.
            LakeError: a table's log cannot be read.
            TableOwnedError: a table is there, and is another feed's, key's or view's.
        """
        return [(source, table) for source in view.sources for table in self._of(source, scope)]

    def of_source(self, source: QuerySource) -> list[QueryTable]:
        """What a source stands for, of all keys; as `of_view`."""
        return list(self._of(source, EVERY_KEY))

    def _of(self, source: QuerySource, scope: str) -> Iterable[QueryTable]:
        if source.external:
            yield self._external(source)
            return
        whose = self._feed.feed_of(source.feed)
        view = whose.view(source.view) if source.view else None
        is_one = source.is_of_key and scope != EVERY_KEY
        keys = (scope,) if is_one else self._keys_of(whose)
        prefix = f"{source.feed}." if source.feed else ""
        for each in keys if view is None else view.scopes(keys):
            if view is None:
                table, owner = whose.silver_table(each), Owner(feed=whose.feed, key=each)
            else:
                table = whose.gold_table(view, each)
                owner = owner_of_view(whose, view.name, each)
            holder = owner_of(self._lake, table)
            if holder is not None and holder != owner:
                folder = str(self._lake.root / table.relative)
                raise TableOwnedError(folder, owner=str(owner), holder=str(holder))
            yield QueryTable(table, each if each == EVERY_KEY else prefix + each)

    def _external(self, source: QuerySource) -> QueryTable:
        table = self._feed.external[source.external].ref(source.external)
        if self._lake.root.overlaps(Path(table.outside)):
            fact = "is a table of this lake, which views name by its feed, or has this lake in it"
            raise LakeError(table.outside, fact, "Write `<feed>.silver` or `<feed>.gold.<view>`")
        return QueryTable(table, str(source))

    def _keys_of(self, feed: Feed) -> tuple[str, ...]:
        if feed.feed not in self._keys:
            self._keys[feed.feed] = keys_of(self._lake, feed)
        return self._keys[feed.feed]
