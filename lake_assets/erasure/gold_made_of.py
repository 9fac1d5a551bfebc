"""Which gold tables have rows of some silver tables, by whatever way."""

from collections.abc import Collection, Sequence

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.log_history import identity
from lake_assets.delta.table_owners import owners_in
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, TableRef, gold_of_all
from lake_assets.model.view_order import ViewName, in_order, turns_of, views_read
from lake_assets.storage.store import Store


def gold_made_of(
    lake: Store, feeds: Sequence[Feed], touched: Collection[TableRef]
) -> set[TableRef]:
    """The gold tables that are there and may have rows of silver tables among some.

    By way of other views and of other feeds, too; and tables of views that those feeds declare no
    longer, of which nobody can tell what they are made of.

    Raises:
        LakeError: a table's log cannot be read.
    """
    keys = {feed.feed: keys_found(lake, feed) for feed in feeds}
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
