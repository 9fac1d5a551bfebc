"""The doctor's look at sinks: whether they can be reached from here, where calls are made."""

from collections.abc import Iterator

from lake_assets.errors import FeedError, ServiceError, SettingsError, SinkError
from lake_assets.feeds.load import load_feeds
from lake_assets.services.control import locate
from lake_assets.services.finding import Finding, Health
from lake_assets.settings.load import secret_of
from lake_assets.settings.schema import Settings
from lake_assets.sinks.catalog import ensure_sink_reachable

_ANSWER_S = 5.0
"""Seconds for a connection, for which a person waits."""


def look_at_sinks(settings: Settings) -> Iterator[Finding]:
    """What there is to tell; nothing where feeds cannot be read, which is said elsewhere."""
    try:
        feeds = load_feeds(settings.feeds)
    except FeedError:
        return
    try:
        endpoints = locate(settings, feeds)
    except ServiceError:
        endpoints = None
    for feed in feeds:
        for sink in feed.sinks:
            thing = f"sink {sink.name!r} of feed {feed.feed!r}"
            try:
                weak = ensure_sink_reachable(sink, secret_of, endpoints, within_s=_ANSWER_S)
            except (SettingsError, SinkError) as problem:
                fact = f"{problem.thing} {problem.fact}"
                fix = problem.next_step
                yield Finding(thing=thing, health=Health.BROKEN, fact=fact, fix=fix)
            else:
                fact = "; but ".join([f"{sink.place} is reachable", *weak])
                yield Finding(thing=thing, health=Health.OK, fact=fact)
