"""What a feed of a Delta table declares beside it that does not go with its rows."""

from collections.abc import Iterator

from lake_assets.feeds.document import Loc
from lake_assets.feeds.files_facts import unread_routes
from lake_assets.model.feeds import Feed
from lake_assets.model.tombstones import tombstone_columns


def unread_table(feed: Feed) -> Iterator[tuple[Loc, str]]:
    """What of a feed does not go with its Delta table; nothing of one that reads none."""
    payload = feed.payload
    if feed.source.delta is None:
        return
    if payload.format != "json":
        yield ("payload",), f"rows of a Delta table go with `json`, not with `{payload.format}`"
    elif payload.needs_registry:
        fact = "rows of a Delta table name no registered schema: give `schema`, or `infer: true`"
        yield ("payload", payload.format), fact
    if payload.wrapped is not None:
        yield ("payload", "wrapped"), "rows of a Delta table are JSON, and wrap no message"
    yield from unread_routes(feed, "a Delta table")
    if tombstone_columns(feed.gold):
        yield ("gold",), "tombstones: an appended row has no key that says what it deletes"
