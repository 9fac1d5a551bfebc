"""The doctor's look at Kinesis streams that feeds read."""

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
from lake_assets.model.kinesis_source import KinesisSource
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.schema import Settings
from lake_assets.sources.kinesis.landed import position_at
from lake_assets.storage.open_store import lake_of
from lake_assets.storage.store import Store

_ANSWER_S = 5.0
"""Seconds for an answer, for which a person waits."""


def look_at_kinesis_sources(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return
    for feed in feeds:
        if feed.source.kinesis is not None:
            yield _of_feed(lake_of(settings), feed, feed.source.kinesis)


def _of_feed(lake: Store, feed: Feed, source: KinesisSource) -> Finding:
    thing = f"Kinesis stream of feed {feed.feed!r}"
    try:
        # boto3 need not be there where no feed reads from Kinesis.
        from lake_assets.sources.kinesis.unseen import ensure_readable  # noqa: PLC0415

        found = ensure_readable(source, position_at(lake, feed.feed), within_s=_ANSWER_S)
    except (SettingsError, SourceError, LakeError) as problem:
        health = Health.LATER if isinstance(problem, SourceNotFoundError) else Health.BROKEN
        fact = f"{problem.thing} {problem.fact}"
        return Finding(thing=thing, health=health, fact=fact, fix=problem.next_step)
    except DeltaError as problem:
        fix = "Check the lake's folder and its disk"
        return Finding(thing=thing, health=Health.BROKEN, fact=first_line(problem), fix=fix)
    stream = found.stream
    hours = stream.retention_ms // 3_600_000
    shards = f"{stream.open_shards} open shard{'' if stream.open_shards == 1 else 's'}"
    read = "nothing of it was read yet"
    if found.since_ms is not None:
        behind_h = max(0, stream.now_ms - found.since_ms) / 3_600_000
        read = f"it was read up to {behind_h:.1f} h ago"
    fact = f"{source.stream} has {shards} and keeps records for {hours} h; {read}"
    return Finding(thing=thing, health=Health.OK, fact=fact)
