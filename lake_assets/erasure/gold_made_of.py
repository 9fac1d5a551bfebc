"""Which gold tables have rows of some silver tables, by whatever way."""

from collections.abc import Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.log_history import identity
from lake_assets.delta.table_owners import owners_in
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, TableRef, gold_of_all
from lake_assets.model.view_order import ViewName, in_order, turns_of, views_read
from lake_assets.storage.store import Store

Keys: TypeAlias = Mapping[str, Sequence[str]]
"""By feed, the keys that are declared or have tables."""

Pairs: TypeAlias = AbstractSet[tuple[TableRef, TableRef]]
"""Tables of gold, each with one of silver."""


def keys_of_all(lake: Store, feeds: Sequence[Feed]) -> Keys:
    """What `gold_made_of` is to know of feeds; raises as `delta.catalog.keys_found`."""
    return {feed.feed: keys_found(lake, feed) for feed in feeds}


def gold_made_of(
    lake: Store, feeds: Sequence[Feed], keys: Keys, touched: Collection[TableRef]
) -> set[TableRef]:
    """The gold tables that are there and may have rows of silver tables among some.

    By way of other views and of other feeds, too; and tables of views that those feeds declare no
    longer, of which nobody can tell what they are made of.

    Args:
        lake: the lake.
        feeds: all that are declared.
        keys: of each of them.
        touched: some tables of silver.

    Raises:
        LakeError: a table's log cannot be read.
    """
    gone = {
        feed.feed: [key for key in keys[feed.feed] if feed.silver_table(key) in touched]
        for feed in feeds
    }
    tables: set[TableRef] = set()
    views: set[ViewName] = set()
    for feed in turns_of(feeds):
        for view in in_order(feed, feed.gold):
            reads_feed = any(gone.get(source.feed or feed.feed) for source in view.sources)
            reads_view = any(read in views for read in views_read(feed, view))
            if not (reads_feed or reads_view):
                continue
            views.add(ViewName(feed.feed, view.name))
            is_by_key = not view.reads_more and not view.is_over_all
            its = gone[feed.feed] if is_by_key else keys[feed.feed]
            tables |= {feed.gold_table(view, key) for key in its}
            tables.add(gold_of_all(feed.feed, view.name))
    declared = {feed.feed: {view.name for view in feed.gold} for feed in feeds}
    for table, owner in owners_in(lake, Layer.GOLD).items():
        if owner and gone.get(owner.feed) and owner.view not in declared[owner.feed]:
            tables.add(table)
    return {table for table in tables if identity(lake, table) is not None}


def gold_computed_of(
    lake: Store, feeds: Sequence[Feed], keys: Keys, touched: Collection[TableRef]
) -> Pairs:
    """Gold tables that are there, each with a touched table of silver of its own feed."""
    made = {
        (table, feed.silver_table(key))
        for feed in feeds
        for key in keys[feed.feed]
        if feed.silver_table(key) in touched
        for table in tables_of_views(feed, [key])
    }
    return {(gold, silver) for gold, silver in made if identity(lake, gold) is not None}


def tables_of_views(feed: Feed, keys: Sequence[str]) -> list[TableRef]:
    """Where a feed's views of some keys are, and those of all keys."""
    of_keys = [feed.gold_table(view, key) for view in feed.gold for key in keys]
    return [*of_keys, *(gold_of_all(feed.feed, view.name) for view in feed.gold)]
