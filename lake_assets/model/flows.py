"""Feeds that fill one feed's silver tables: whose the tables are, and whose each row of them is.

The feed that the others name with `into` owns the tables and declares what is of them.
"""

from dataclasses import replace

from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import FeedRows, OriginColumns

_INHERITED = (
    "route",
    "routes",
    "tables",
    "expectations",
    "deduplicate",
    "partition_by",
    "cluster_by",
    "bloom_filters",
    "layouts",
    "retention",
)
"""Fields that a feed has of the one whose silver tables it fills."""

OF_TABLES = frozenset(
    {*_INHERITED, "checks", "columns", "gold", "keyed", "masks", "selects", "sinks"}
)
"""Fields that only the tables' owner declares, whoever fills them."""


def filling(feed: Feed, target: Feed) -> Feed:
    """A feed with what the feed declares whose silver tables it fills."""
    inherited = {name: getattr(target, name) for name in _INHERITED}
    inherited["expectations"] = (*_where(feed), *target.expectations)
    source = feed.source.in_tables_of(target.source)
    return feed.model_copy(update={**inherited, "source": source})


def _where(feed: Feed) -> tuple[Expectation, ...]:
    """What drops the rows that it does not want in the tables."""
    if feed.where is None:
        return ()
    return (Expectation(name=_name_of_where(feed), sql=feed.where, action=Action.DROP),)


def _name_of_where(feed: Feed) -> str:
    return f"where_of_{feed.feed}"


def where_of(feed: Feed) -> str | None:
    """Name of the expectation that a feed's `where` is; None if it has none.

    It is the first of all, and nothing else is expected of rows that it leaves out.
    """
    return _name_of_where(feed) if feed.into and feed.where else None


def expectations_of_tables(feed: Feed) -> tuple[Expectation, ...]:
    """The expectations of the tables that a feed fills: all but what its own `where` is."""
    return tuple(one for one in feed.expectations if one.name != where_of(feed))


def tables_owner(feed: Feed) -> str:
    """Name of the feed whose a feed's silver tables are: its own, unless it fills another's."""
    return feed.into or feed.feed


def feed_of_tables(feed: Feed) -> Feed:
    """The feed whose a feed's silver tables are, as one that knows the others.

    Raises:
        FeedError: it is another one, which was not made known to the feed.
    """
    if feed.into is None:
        return feed
    return feed.feed_of(feed.into).beside([feed, *feed.others])


def flows_into(feed: Feed) -> tuple[Feed, ...]:
    """The other feeds that fill a feed's silver tables, as far as they were made known to it."""
    return tuple(other for other in feed.others if other.into == feed.feed)


def is_shared(feed: Feed) -> bool:
    """Whether several feeds fill its silver tables."""
    return feed.into is not None or bool(flows_into(feed))


def beside_it(feed: Feed) -> tuple[str, ...]:
    """Names of the other feeds that fill its silver tables, their owner first."""
    owner = tables_owner(feed)
    flows = [other.feed for other in feed.others if other.into == owner]
    return tuple(name for name in (owner, *flows) if name != feed.feed)


def fillers(feed: Feed) -> tuple[str, ...]:
    """Names of the feeds that fill the silver tables that are a feed's own, itself the first."""
    return (feed.feed, *(flow.feed for flow in flows_into(feed)))


def origin_of(feed: Feed) -> OriginColumns:
    """Its source's columns that say where a row came from, and which rows of silver are its."""
    whose = FeedRows(feed=feed.feed, has_unnamed=feed.into is None, is_named=is_shared(feed))
    return replace(feed.source.origin, whose=whose)
