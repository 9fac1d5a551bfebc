"""What a feed of a Kinesis stream declares beside it that does not go with its records."""

from collections.abc import Iterator

from lake_assets.feeds.document import Loc
from lake_assets.feeds.files_facts import unread_routes
from lake_assets.model.feeds import Feed
from lake_assets.model.tombstones import tombstone_columns


def unread_stream(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What of a feed does not go with its stream; nothing of one that reads none."""
    if feed.source.kinesis is None:
        return
    yield from unread_routes(feed, "Kinesis")
    if tombstone_columns(feed.gold):
        yield ("gold",), "tombstones: a partition key of Kinesis does not say what it deletes"
