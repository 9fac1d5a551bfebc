"""What a feed of a Delta table declares beside it that does not go with its rows."""

from collections.abc import Iterator

from lake_assets.feeds.document import Loc
from lake_assets.feeds.files_facts import unread_payload, unread_routes
from lake_assets.model.feeds import Feed
from lake_assets.model.tombstones import tombstone_columns


def unread_table(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What of a feed does not go with its Delta table; nothing of one that reads none."""
    if feed.source.delta is None:
        return
    yield from unread_payload(feed, "rows of a Delta table")
    yield from unread_routes(feed, "a Delta table")
    if tombstone_columns(feed.gold):
        yield ("gold",), "tombstones: an appended row has no key that says what it deletes"
