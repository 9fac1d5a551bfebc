"""Which totals of gold an erasure may make smaller than they were, told before it acts. Pure.

Gold of a key that rows leave is computed anew from what silver has. Where silver's rows leave for
their age, totals of rows that left before are lost with it: what they were made of is nowhere.
"""

from collections.abc import Iterator, Sequence

from lake_assets.model.feeds import Feed


def shrinking_views(feeds: Sequence[Feed]) -> Iterator[str]:
    """In words, views over silver whose rows leave for their age.

    Args:
        feeds: all that are declared: a view may read another feed's silver.
    """
    aged = {feed.feed for feed in feeds if _lets_silver_go(feed)}
    for feed in feeds:
        views = [
            view.name
            for view in feed.gold
            if any((source.feed or feed.feed) in aged for source in view.sources)
        ]
        if views:
            yield (
                f"gold of feed {feed.feed!r} ({', '.join(views)}): keys that have such rows are "
                "computed anew from what silver keeps (`retention`), and lose totals of rows that "
                "left for their age; a backup or an export from before has them"
            )


def _lets_silver_go(feed: Feed) -> bool:
    return any(feed.layout_of(key).retention is not None for key in (None, *feed.layouts))
