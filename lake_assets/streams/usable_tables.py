"""Whether the streams can work with the tables that are there; asked before they begin."""

from lake_assets.delta.catalog import keys_found
from lake_assets.delta.renamed_tables import ensure_none_renamed
from lake_assets.delta.table_features import Use
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import (
    Layer,
    bronze_of,
    duplicates_of,
    erased_of,
    quarantine_of,
    waiting_of,
)
from lake_assets.spark.lake_context import LakeContext


def ensure_streamable(context: LakeContext, feed: Feed) -> None:
    """Refuse tables of a feed that the streams could not read or append to.

    Raises:
        FeedError: the lake has them under other names than the feed gives them now.
        TableFeatureError: names the table, the feature and what to do.
    """
    ensure_none_renamed(context.lake, feed, Layer.SILVER)
    tables = [
        bronze_of(feed.feed),
        quarantine_of(feed.feed),
        waiting_of(feed.feed),
        duplicates_of(feed.feed),
        erased_of(feed.feed),
        *([index] if (index := feed.source.index_of(feed.feed)) else []),
        *map(feed.silver_table, keys_found(context.lake, feed)),
    ]
    context.committer.ensure_usable(tables, Use.READ, Use.APPEND)
