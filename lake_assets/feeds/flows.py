"""Feeds that fill another feed's silver tables (`into`): each resolved, or what is wrong with it.

Where in its file that is, is `feeds.load`'s.
"""

from collections.abc import Iterator, Sequence

from lake_assets.model.feeds import Feed
from lake_assets.model.flows import OF_TABLES, filling, where_of
from lake_assets.model.transforms import generators_in
from lake_assets.model.view_sinks import DECLARE_IT


def wrong_flows(feeds: Sequence[Feed]) -> Iterator[tuple[Feed, str, str]]:
    """Each as whose feed, the field that is wrong, and the fact."""
    by_name = {feed.feed: feed for feed in feeds}
    for feed in feeds:
        if feed.into is None:
            if feed.where is not None:
                yield feed, "where", "goes with `into`\ndeclare an expectation that drops rows"
            continue
        fact = _fact(by_name, feed, feed.into)
        if fact:
            yield feed, "into", fact
        if (called := _called_as_where(by_name, feed)) is not None:
            yield feed, "where", called
        for name in sorted(OF_TABLES & feed.model_fields_set):
            yield feed, name, f"is of the tables\ndeclare it of feed {feed.into!r}, which has them"


def _called_as_where(by_name: dict[str, Feed], feed: Feed) -> str | None:
    """Why a feed's `where` cannot be told from what the tables expect; None if it can."""
    target = by_name.get(feed.into or "")
    name = where_of(feed)
    if target is None or name not in {one.name for one in target.expectations}:
        return None
    return f"is counted as {name}, and feed {target.feed!r} has an expectation called so\nrename it"


def _fact(by_name: dict[str, Feed], feed: Feed, into: str) -> str:
    target = by_name.get(into)
    if into == feed.feed:
        return "is the feed itself\nleave it out"
    if target is None:
        others = ", ".join(name for name in by_name if name != feed.feed) or "none"
        return f"there is no feed {into!r}; other feeds are {others}\n{DECLARE_IT}"
    return _unfit(feed, target)


def _unfit(feed: Feed, target: Feed) -> str:
    """Why a feed cannot fill another's tables; empty if it can."""
    into = target.feed
    if target.into is not None or not target.has_silver:
        why = f": its rows go into those of {target.into!r}" if target.into else " (`silver: none`)"
        return f"feed {into!r} has no silver tables{why}"
    alone = {
        "selects or hides by key": target.selects_by_key,
        "has `columns: own`": target.has_own_columns,
        "makes several rows of one": bool(generators_in(target.select)),
        # Places of changes (`model.keyed`) are those of one feed's rows.
        "has keyed tables": any(view.keyed for view in target.gold),
    }
    for fact in (fact for fact, holds in alone.items() if holds):
        return f"feed {into!r} {fact}, which is not possible with rows of others"
    is_another = feed.source.kind != target.source.kind
    if is_another and target.deduplicate is not None and not target.deduplicate.time:
        return (
            f"feed {into!r} deduplicates by when {target.source.kind} got a row, and "
            f"{feed.source.kind} tells another time\nname a column there, `deduplicate: time`"
        )
    if not feed.source.origin.goes_into(target.source.origin):
        return (
            f"feed {into!r} has a source of another kind ({target.source.kind}), whose tables have "
            f"no column for the partitions of {feed.source.kind}"
        )
    try:
        filling(feed, target).ensure_routable()
    except ValueError as problem:
        return f"feed {into!r} has a route that this one cannot take: {problem}"
    return ""


def with_targets(feeds: Sequence[Feed]) -> list[Feed]:
    """The feeds, each that fills another's tables with what is declared of these."""
    by_name = {feed.feed: feed for feed in feeds}
    return [feed if feed.into is None else filling(feed, by_name[feed.into]) for feed in feeds]
