"""What gold views read that is not there, or that reads them in turn; told as feeds are loaded.

Where in its file a view is, is `feeds.load`'s.
"""

from collections.abc import Iterator, Sequence

from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.queries import QuerySource
from lake_assets.model.view_order import cycle_among
from lake_assets.model.view_sinks import DECLARE_IT


def wrong_references(feeds: Sequence[Feed]) -> Iterator[tuple[Feed, int, str]]:
    """Each as whose feed, the place of the view in it, and the fact."""
    by_name = {feed.feed: feed for feed in feeds}
    is_wrong = False
    for feed in feeds:
        for index, view in enumerate(feed.gold):
            for source in view.sources:
                is_outside = bool(source.external)
                fact = _outside(feed, source) if is_outside else _fact(by_name, feed, view, source)
                if fact:
                    is_wrong = True
                    yield feed, index, fact
    cycle = () if is_wrong else cycle_among(feeds)
    if cycle:
        first = by_name[cycle[0].feed]
        place = [view.name for view in first.gold].index(cycle[0].view)
        fact = f"reads itself: {' reads '.join(map(str, cycle))}"
        yield first, place, f"{fact}\nhave one of them read silver instead"


def _fact(by_name: dict[str, Feed], feed: Feed, view: GoldView, source: QuerySource) -> str:
    """What is wrong with one of a view's sources; empty if nothing is."""
    if source.feed == feed.feed:
        own = QuerySource(view=source.view)
        return f"reads {source}, of its own feed\nwrite {own}, or {_of_key(own)} for the key's"
    whose = by_name.get(source.feed or feed.feed)
    if whose is None:
        others = ", ".join(name for name in by_name if name != feed.feed) or "none"
        fact = f"there is no feed {source.feed!r}; other feeds are {others}"
        return f"reads {source}, and {fact}\n{DECLARE_IT}"
    if whose.into is not None or not whose.has_silver:
        fact = f"the rows of feed {whose.feed!r} are in those of {whose.into!r}"
        fact = fact if whose.into else f"feed {whose.feed!r} has no silver tables (`silver: none`)"
        return f"reads {source}, and {fact}"
    read = next((each for each in whose.gold if each.name == source.view), None)
    if source.view and read is None:
        names = ", ".join(each.name for each in whose.gold if each is not view) or "none"
        fact = f"feed {whose.feed!r} has no such view; it has {names}"
        return f"reads {source}, and {fact}\n{DECLARE_IT}"
    if read is not None and read.is_over_all and source.is_of_key:
        of_all = QuerySource(view=source.view)
        return f"reads {source}, which has one table over all keys\nwrite {of_all}"
    return ""


def _outside(feed: Feed, source: QuerySource) -> str:
    if source.external in feed.external:
        return ""
    names = ", ".join(feed.external) or "none"
    return f"reads {source}, and the feed has no such table in `external`; it has {names}"


def _of_key(source: QuerySource) -> QuerySource:
    return QuerySource(view=source.view, is_of_key=True)
