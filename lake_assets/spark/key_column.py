"""The key of silver's rows, where rows of many keys are read at once."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lake_assets.model.feeds import Feed

_TABLE = "#silver"
"""string: the name of a row's table."""


def named_for_keys(feed: Feed) -> str | None:
    """The column with a row's table that `key_column` reads; None if it reads none.

    As `spark.read_tables.read_tables` takes it.
    """
    return None if feed.key_column is not None or not feed.all_routes else _TABLE


def with_table_names(nothing: DataFrame, feed: Feed) -> DataFrame:
    """No rows, as those that are read have their columns: with the one that `key_column` reads."""
    name = named_for_keys(feed)
    return nothing if name is None else nothing.withColumn(name, F.lit(None).cast("string"))


def key_column(feed: Feed) -> Column:
    """The key of each row of a feed's silver, as text.

    It is the route's column where that holds the keys themselves, else told by the row's table; or
    it is the one key there is.
    """
    if not feed.all_routes:
        return F.lit(feed.keys[0])
    if feed.key_column is not None:
        return F.col(f"`{feed.key_column}`").cast("string")
    before, after = feed.tables.around_silver_key
    table = F.col(f"`{_TABLE}`")
    return F.substring(table, len(before) + 1, F.length(table) - len(before) - len(after))
