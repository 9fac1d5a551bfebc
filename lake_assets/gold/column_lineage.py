"""What gold's columns are made from, by the columns that tables have now; and in words.

What a view's SQL says of its columns is `model.view_lineage`'s.
"""

from collections.abc import Iterator, Mapping

from lake_assets.delta.catalog import example_keys
from lake_assets.delta.column_types import column_types
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.queries import QuerySource
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.model.view_lineage import Lineage, lineage_of
from lake_assets.storage.store import Store

_OWN_COLUMNS = 20
"""Keys whose tables are looked at where each has columns of its own: each costs the reading of a
log when a code location loads. Columns that only further keys have are missing in what is told."""


def view_lineage(lake: Store, feed: Feed, view: GoldView) -> Lineage:
    """What each column of a view is made of, by the columns that tables have now.

    Raises:
        LakeError: a table's log cannot be read.
    """
    columns = {
        source: list(
            dict.fromkeys(
                one.name
                for table in _tables(lake, feed, source)
                for one in column_types(lake, table)
            )
        )
        for source in view.sources
    }
    return lineage_of(view, columns)


def view_words(lineage: Lineage) -> dict[str, str]:
    """By column, what it is made from: `from silver.ante`, `from gold.best.total`."""
    return {
        name: f"from {', '.join(map(str, read))}" if read else "from no column"
        for name, read in lineage.items()
    }


class ViewWords:
    """The words of a feed's views, each looked up once: as long as one report takes."""

    def __init__(self, lake: Store, feed: Feed) -> None:
        """Look up nothing yet."""
        self._lake, self._feed = lake, feed
        self._words: dict[str, Mapping[str, str]] = {}

    def of(self, view: GoldView) -> Mapping[str, str]:
        """As `view_words`."""
        if view.name not in self._words:
            self._words[view.name] = view_words(view_lineage(self._lake, self._feed, view))
        return self._words[view.name]

    def of_table(self, table: TableRef, scope: str) -> Mapping[str, str]:
        """The same of the view whose table for a key, or for all, this is; empty of another."""
        for view in self._feed.gold:
            if self._feed.gold_table(view, scope) == table:
                return self.of(view)
        return {}


def _tables(lake: Store, feed: Feed, source: QuerySource) -> Iterator[TableRef]:
    """Tables that have the columns of what a query reads."""
    if source.external:
        yield feed.external[source.external].ref(source.external)
        return
    whose = feed.feed_of(source.feed)
    read = whose.view(source.view) if source.view else None
    if read is not None and read.is_over_all:
        yield whose.gold_table(read, EVERY_KEY)
        return
    for key in example_keys(lake, whose, _OWN_COLUMNS if whose.has_own_columns else 1):
        yield whose.silver_table(key) if read is None else whose.gold_table(read, key)
