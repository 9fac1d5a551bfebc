"""What a feed's rows are judged by: its expectations, from which tombstones are left out. Pure.

What the conditions mean is Spark SQL's; that rows are judged at all, `model.expectations`'.
"""

from collections.abc import Iterable

from lake_assets.model.expectations import Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.tombstones import TOMBSTONE, tombstone_columns


def as_judged(feed: Feed, columns: Iterable[str] | None = None) -> tuple[Expectation, ...]:
    """A feed's expectations in their order, with the SQL by which rows are judged.

    A tombstone has `by` and nulls, and is a delete that must not be lost: all hold for it but those
    that say that it has `by`.

    Args:
        feed: whose.
        columns: of the rows; as the feed is declared by default. Where there is no mark, as in
            silver from before the feed took tombstones, there is none of them.
    """
    has_mark = columns is None or TOMBSTONE in columns
    if not has_mark or not tombstone_columns(feed.gold):
        return feed.expectations
    origin = feed.source.origin
    of_keys = [
        view.keyed.expectation(view.name, origin)
        for view in feed.gold
        if view.keyed and view.keyed.tombstones
    ]
    return tuple(one if one in of_keys else _but_of_tombstones(one) for one in feed.expectations)


def _but_of_tombstones(expectation: Expectation) -> Expectation:
    # On a line of its own: the condition may end in a comment.
    sql = f"`{TOMBSTONE}` is not null or ({expectation.sql}\n)"
    return expectation.model_copy(update={"sql": sql})
