"""Which gold views read which, and the order in which they are refreshed. Pure.

What a view reads is in its query (`model.queries`).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple, TypeAlias

from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView


class ViewName(NamedTuple):
    """A view of a lake."""

    feed: str
    view: str

    def __str__(self) -> str:
        """As another feed's query names it."""
        return f"{self.feed}.gold.{self.view}"


_Read: TypeAlias = Mapping[str, tuple[ViewName, ...]]
"""By view of a feed, in their order, which ones it reads."""


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

    A feed comes twice or more only where its views read another feed's that read its own. Then all
    of its views are looked at each time.
    """
    _graph(feeds).prepare()  # without a circle some feed always gets on
    by_name = {feed.feed: feed for feed in feeds}
    read = {
        feed.feed: {view.name: views_read(feed, view) for view in in_order(feed, feed.gold)}
        for feed in feeds
    }
    left = {feed.feed: {*read[feed.feed]} for feed in feeds if feed.gold}
    turns = [feed.feed for feed in feeds if not feed.gold]
    while left:
        ready = {name: _ready(name, read[name], left) for name in left}
        able = [name for name in left if ready[name]]
        ending = [name for name in able if ready[name] == left[name]]
        freeing = (name for name in able if _frees(name, ready[name], left, read))
        turn = ending[0] if ending else next(freeing, able[0])
        left = _after(turn, ready[turn], left)
        turns.append(turn)
    return [by_name[name] for name in turns]


def _ready(feed: str, read: _Read, left: Mapping[str, Collection[str]]) -> set[str]:
    """Those of a feed's views that are left which a turn of it computes; `left` by feed."""
    found: set[str] = set()
    for view, names in read.items():
        missing = [name for name in names if name.view in left.get(name.feed, ())]
        is_next = all(name.feed == feed and name.view in found for name in missing)
        if view in left[feed] and is_next:
            found.add(view)
    return found


def _frees(
    feed: str, done: set[str], left: Mapping[str, set[str]], read: Mapping[str, _Read]
) -> bool:
    """Whether another feed can come to its end after a turn of this one."""
    after = _after(feed, done, left)
    others = (name for name in after if name != feed)
    return any(_ready(name, read[name], after) == after[name] for name in others)


def _after(turn: str, done: set[str], left: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What is left after a feed's turn."""
    after = {**left, turn: left[turn] - done}
    return {name: views for name, views in after.items() if views}


def _graph(feeds: Iterable[Feed]) -> "TopologicalSorter[ViewName]":
    return TopologicalSorter(
        {
            ViewName(feed.feed, view.name): views_read(feed, view)
            for feed in feeds
            for view in feed.gold
        }
    )
