"""The key of silver's rows, where rows of many keys are read at once."""

from pyspark.sql import Column
from pyspark.sql import functions as F

from lake_assets.model.feeds import Feed


def key_column(feed: Feed) -> Column:
    """The key of each row of a feed's silver, as text: the route's column, or the one key."""
    if feed.route_column is None:
        return F.lit(feed.keys[0])
    return F.col(f"`{feed.route_column}`").cast("string")
