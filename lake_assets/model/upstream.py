"""Which tables the rows of a table come from, by what feeds declare. Pure.

`{key}` in a name stands for each key: the list stays the same as keys come and go.
"""

from collections.abc import Iterator, Sequence

from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.gold_views import GoldView
from lake_assets.model.owners import Owner
from lake_assets.model.queries import QuerySource
from lake_assets.model.tables import EVERY_KEY, Layer, TableRef, bronze_of

KEY = "{key}"


def upstream_of(
    feed: Feed, feeds: Sequence[Feed], table: TableRef, owner: Owner
) -> tuple[TableRef, ...]:
    """The tables of the lake, and those outside, that a table is made of; none of bronze.

    Args:
        feed: that owns it.
        feeds: all that are declared.
        table: whose rows they are.
        owner: what it was created for.
    """
    match table.layer:
        case Layer.SILVER:
            filling = (one for one in feeds if tables_owner(one) == feed.feed and one.has_silver)
            return tuple(bronze_of(one.feed) for one in filling)
        case Layer.QUARANTINE:
            return (bronze_of(feed.feed),)
        case Layer.GOLD:
            views = (view for view in feed.gold if view.name == owner.view)
            read = (one for view in views for one in _of_view(feed, view, owner.key))
            return tuple(dict.fromkeys(read))
        case _:
            return ()


def _of_view(feed: Feed, view: GoldView, key: str) -> Iterator[TableRef]:
    for source in view.sources:
        yield read_table(feed, source, key)


def read_table(feed: Feed, source: QuerySource, key: str) -> TableRef:
    """What a view of a key, or of all keys, reads under a name; with `KEY` where it is of each.

    Args:
        feed: that has the view.
        source: what it reads.
        key: that the view's table is of; empty if it is over all.
    """
    if source.external:
        return feed.external[source.external].ref(source.external)
    whose = feed.feed_of(source.feed)
    scope = key if source.is_of_key and key else KEY if whose.all_routes else tables_owner(whose)
    if not source.view:
        return whose.silver_table(scope)
    view = whose.view(source.view)
    return whose.gold_table(view, EVERY_KEY if view.is_over_all else scope)
