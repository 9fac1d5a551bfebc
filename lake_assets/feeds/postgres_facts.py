"""What a feed of a table of PostgreSQL declares beside it that does not go with its rows."""

from collections.abc import Iterator

from lake_assets.feeds.document import Loc
from lake_assets.feeds.files_facts import unread_payload, unread_routes
from lake_assets.model.feeds import Feed
from lake_assets.model.tombstones import tombstone_columns


def unread_database(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What of a feed does not go with its database; nothing of one that reads none."""
    if feed.source.postgres is None:
        return
    if feed.run is None:
        fact = 'a table of PostgreSQL is read on a schedule\ngive one, such as `run: "*/5 * * * *"`'
        yield ("run",), fact
    yield from unread_payload(feed, "rows of PostgreSQL")
    yield from unread_routes(feed, "PostgreSQL")
    if tombstone_columns(feed.gold):
        yield ("gold",), "tombstones: rows that are deleted in PostgreSQL are not seen"
