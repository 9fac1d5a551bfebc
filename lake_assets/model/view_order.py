"""Which gold views read which, and the order in which they are refreshed. Pure.

What a view reads is in its query (`model.queries`).
"""

from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView


class ViewName(NamedTuple):
    """A view of a lake."""

    feed: str
    view: str

    def __str__(self) -> str:
        """As another feed's query names it."""
        return f"{self.feed}.gold.{self.view}"


def views_read(feed: Feed, view: GoldView) -> tuple[ViewName, ...]:
    """The views that a view reads, of whichever feed."""
    return tuple(
        ViewName(source.feed or feed.feed, source.view) for source in view.sources if source.view
    )


def cycle_among(feeds: Iterable[Feed]) -> tuple[ViewName, ...]:
    """Views each of which reads the next, and the last of which is the first; empty if none do."""
    try:
        tuple(_graph(feeds).static_order())
    except CycleError as problem:
        return tuple(reversed(problem.args[1]))  # it names what is read before who reads it
    return ()


def in_order(feed: Feed, views: Iterable[GoldView]) -> list[GoldView]:
    """Views of a feed, each after those that it reads; else as they come.

    By way of views of other feeds, too, as far as those are known to the feed.
    """
    wanted = {view.name: view for view in views}
    order = _graph((feed, *feed.others)).static_order()
    return [wanted[name] for whose, name in order if whose == feed.feed and name in wanted]


def readers_of(feed: Feed, name: str, views: Iterable[GoldView]) -> list[str]:
    """The names of those of a feed's views that read one of it, or read one that does."""
    found = {name}
    readers = []
    for view in in_order(feed, views):
        if found & {read.view for read in views_read(feed, view) if read.feed == feed.feed}:
            found.add(view.name)
            readers.append(view.name)
    return readers


def turns_of(feeds: Sequence[Feed]) -> list[Feed]:
    """Feeds in an order in which each view comes after those that it reads; others stay in theirs.

    A feed comes twice or more only where it must: its views read another feed's that read its own.
    Then all of its views are looked at each time.
    """
    by_name = {feed.feed: feed for feed in feeds}
    places = {name: place for place, name in enumerate(by_name)}
    sorter = _graph(feeds)
    sorter.prepare()
    ready: list[ViewName] = []
    turns = [feed.feed for feed in feeds if not feed.gold]
    while sorter.is_active():
        ready += sorter.get_ready()
        known = [name for name in ready if name.feed in places]
        if known:
            # On with the same feed as long as it has something.
            feeds_ready = sorted({name.feed for name in known}, key=places.__getitem__)
            turn = turns[-1] if turns and turns[-1] in feeds_ready else feeds_ready[0]
            turns += [] if turns and turns[-1] == turn else [turn]
        done = [name for name in ready if name.feed not in places or name.feed == turns[-1]]
        ready = [name for name in ready if name not in done]
        sorter.done(*done)
    return [by_name[name] for name in turns]


def _graph(feeds: Iterable[Feed]) -> "TopologicalSorter[ViewName]":
    return TopologicalSorter(
        {
            ViewName(feed.feed, view.name): views_read(feed, view)
            for feed in feeds
            for view in feed.gold
        }
    )
