"""The doctor's look at Delta tables that feeds read, and at what their indexes have of them."""

from collections.abc import Iterator

from deltalake.exceptions import DeltaError

from lake_assets.errors import (
    FeedError,
    LakeError,
    SourceError,
    SourceNotFoundError,
    first_line,
)
from lake_assets.feeds.load import load_feeds
from lake_assets.model.delta_source import DeltaSource
from lake_assets.model.feeds import Feed
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.schema import Settings
from lake_assets.sources.delta.following import open_source, reached
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store


def look_at_delta_sources(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return
    for feed in feeds:
        if feed.source.delta is not None:
            yield _of_feed(lake_of(settings), feed, feed.source.delta)


def _of_feed(lake: Store, feed: Feed, source: DeltaSource) -> Finding:
    thing = f"Delta table of feed {feed.feed!r}"
    try:
        known = reached(lake, feed.feed)
        version = open_source(source, lake, known).version()
    except (SourceError, LakeError) as problem:
        health = Health.LATER if isinstance(problem, SourceNotFoundError) else Health.BROKEN
        fact = f"{problem.thing} {problem.fact}"
        return Finding(thing=thing, health=health, fact=fact, fix=problem.next_step)
    except DeltaError as problem:
        fix = "Check the lake's folder and its disk"
        return Finding(thing=thing, health=Health.BROKEN, fact=first_line(problem), fix=fix)
    read = "nothing of it was found yet" if known is None else f"found up to {known.version}"
    fact = f"{source.path}: at version {version}, {read}"
    return Finding(thing=thing, health=Health.OK, fact=fact)
