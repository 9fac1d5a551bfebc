"""The doctor's look at topics of the user's own brokers, and at what those refuse of them."""

from collections.abc import Iterator

from lake_assets.errors import FeedError, SettingsError, SourceError
from lake_assets.feeds.load import load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.sources import KafkaSource
from lake_assets.services.finding import Finding, Health, broken, unreadable
from lake_assets.settings.schema import Settings
from lake_assets.sources.kafka.cluster_limits import group_refusal, topic_limits
from lake_assets.sources.kafka.found_topics import extent_of
from lake_assets.sources.kafka.group_offsets import group_of
from lake_assets.sources.kafka.java_properties import java_properties
from lake_assets.sources.kafka.topics import end_offsets

_TOPICS_SHOWN = 5
"""Of those that a pattern finds; there may be hundreds."""


def look_at_topics(
    settings: Settings, endpoints: Endpoints, *, timeout_s: float
) -> Iterator[Finding]:
    """Whether Spark can be told the client's properties, and we may read the feeds' topics.

    Args:
        settings: which feeds there are.
        endpoints: the user's own brokers, which answer.
        timeout_s: for an answer.
    """
    try:
        java_properties(endpoints.client_options())
        feeds = load_feeds(settings.feeds)
    except (SettingsError, FeedError) as problem:
        yield broken(problem.thing, problem)
        return
    sources = {feed.feed: feed.source.kafka for feed in feeds if feed.source.kafka is not None}
    for topic in sorted({name for source in sources.values() for name in source.names}):
        yield _topic(endpoints, topic, timeout_s)
    for source in {source.pattern: source for source in sources.values()}.values():
        if source.pattern is not None:
            yield _pattern(endpoints, source, timeout_s)
    if settings.kafka.commit_offsets:
        for feed in sources:
            yield from _group(endpoints, feed, timeout_s)


def _topic(endpoints: Endpoints, topic: str, timeout_s: float) -> Finding:
    thing = f"topic {topic}"
    try:
        rows = sum(end_offsets(endpoints, topic, timeout_s=timeout_s).values())
        limits = topic_limits(endpoints, topic, timeout_s=timeout_s)
    except SourceError as problem:
        return unreadable(thing, problem)
    fact = "; but ".join([f"readable, {rows:,} rows so far", *limits])
    return Finding(thing=thing, health=Health.OK, fact=fact)


def _pattern(endpoints: Endpoints, source: KafkaSource, timeout_s: float) -> Finding:
    """Which topics a pattern finds now; none are waited for."""
    thing = source.title
    try:
        extent = extent_of(endpoints, source, timeout_s=timeout_s)
    except SourceError as problem:
        return unreadable(thing, problem)
    rows, count = sum(extent.ends.values()), len(extent.names)
    shown = ", ".join(extent.names[:_TOPICS_SHOWN]) + (" …" if count > _TOPICS_SHOWN else "")
    return Finding(thing=thing, health=Health.OK, fact=f"{count} ({shown}), {rows:,} rows so far")


def _group(endpoints: Endpoints, feed: str, timeout_s: float) -> Iterator[Finding]:
    """Whether a feed's offsets can be committed; nothing is said if so."""
    thing = f"consumer group {group_of(feed)}"
    try:
        refusal = group_refusal(endpoints, group_of(feed), timeout_s=timeout_s)
    except SourceError as problem:
        yield broken(thing, problem)
        return
    if refusal is not None:
        yield Finding(
            thing=thing,
            health=Health.LATER,
            fact=f"takes no offsets ({refusal}), which the lake does not need",
            fix="Grant the user Read on it, or set LAKE_ASSETS_KAFKA_COMMIT_OFFSETS=false",
        )
