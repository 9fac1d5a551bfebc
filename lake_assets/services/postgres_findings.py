"""The doctor's look at tables of PostgreSQL that feeds read."""

from collections.abc import Iterator

from deltalake.exceptions import DeltaError

from lake_assets.errors import (
    FeedError,
    LakeError,
    SettingsError,
    SourceError,
    SourceNotFoundError,
    first_line,
)
from lake_assets.feeds.load import load_feeds
from lake_assets.model.feeds import Feed
from lake_assets.model.postgres_source import PostgresSource
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.schema import Settings
from lake_assets.sources.postgres.reach import look_at
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store

_ANSWER_S = 5.0
"""Seconds for an answer, for which a person waits."""


def look_at_postgres_sources(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return
    for feed in feeds:
        if feed.source.postgres is not None:
            yield _of_feed(lake_of(settings), feed, feed.source.postgres)


def _of_feed(lake: Store, feed: Feed, source: PostgresSource) -> Finding:
    thing = f"PostgreSQL of feed {feed.feed!r}"
    try:
        found = look_at(source, lake, feed.feed, within_s=_ANSWER_S)
    except (SettingsError, SourceError, LakeError) as problem:
        health = Health.LATER if isinstance(problem, SourceNotFoundError) else Health.BROKEN
        fact = f"{problem.thing} {problem.fact}"
        return Finding(thing=thing, health=health, fact=fact, fix=problem.next_step)
    except DeltaError as problem:
        fix = "Check the lake's folder and its disk"
        return Finding(thing=thing, health=Health.BROKEN, fact=first_line(problem), fix=fix)
    fact = f"{source.title} can be read, {found.landed:,} rows were"
    return Finding(thing=thing, health=Health.OK, fact="; but ".join([fact, *found.weak]))
