"""What gold's columns are made from: in words, and as lineage of silver's columns and other views'.

What silver's columns are made from is `column_lineage`'s; what a view's SQL says of its columns,
`model.view_lineage`'s.
"""

from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from lake_assets.defs.column_lineage import LINEAGE
from lake_assets.defs.keys import external_key, gold_key, silver_key
from lake_assets.delta.catalog import keys_of
from lake_assets.delta.column_types import column_types
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.queries import QuerySource
from lake_assets.model.tables import EVERY_KEY, TableRef
from lake_assets.model.view_lineage import Lineage, ReadColumn, lineage_of
from lake_assets.storage.store import Store


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


def view_lineage_metadata(feed: Feed, lineage: Lineage) -> dict[str, dg.MetadataValue]:
    """Each column by those of silver, or of other views, that it is made of; empty without any."""
    if not lineage:
        return {}
    deps = {name: [_dep(feed, one) for one in read] for name, read in lineage.items()}
    return {LINEAGE: dg.MetadataValue.column_lineage(dg.TableColumnLineage(deps_by_column=deps))}


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
    keys: Sequence[str] = keys_of(lake, whose)
    read = whose.view(source.view) if source.view else None
    if read is not None and read.is_over_all:
        yield whose.gold_table(read, EVERY_KEY)
        return
    for key in keys if whose.has_own_columns else keys[:1]:
        yield whose.silver_table(key) if read is None else whose.gold_table(read, key)


def _dep(feed: Feed, one: ReadColumn) -> dg.TableColumnDep:
    if one.source.external:
        key = external_key(feed, one.source.external)
        return dg.TableColumnDep(asset_key=key, column_name=one.column)
    whose = feed.feed_of(one.source.feed)
    view = one.source.view
    key = gold_key(whose, whose.view(view)) if view else silver_key(whose)
    return dg.TableColumnDep(asset_key=key, column_name=one.column)
