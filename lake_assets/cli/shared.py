"""What several commands share: the options' types, and which feed is meant."""

from pathlib import Path
from typing import Annotated

import typer

from lake_assets.errors import FeedError, ServiceError
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.services import control
from lake_assets.settings.schema import Settings

LakeOption = Annotated[
    Path | None,
    typer.Option("--lake", help="Folder of the tables.", show_default="<home>/lake"),
]
FeedOption = Annotated[
    str | None, typer.Option("--feed", help="Which feed, if there are several.", show_default=False)
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on the last line instead.")
]


def pick_feed(settings: Settings, name: str | None) -> Feed:
    """The feed of that name, or the only one.

    Raises:
        FeedError: there is no such feed, or there are several and none is named.
    """
    feeds = load_feeds(settings.feeds)
    if name is not None:
        return find_feed(feeds, name)
    if len(feeds) > 1:
        names = ", ".join(feed.feed for feed in feeds)
        raise FeedError("--feed", f"there are several feeds ({names})", "Name one of them")
    return feeds[0]


def pick_feed_of_topic(settings: Settings, topic: str) -> Feed:
    """The feed that reads a topic.

    Raises:
        FeedError: no feed reads it, or several do.
    """
    feeds = load_feeds(settings.feeds)
    found = [feed for feed in feeds if feed.source.kafka.topic == topic]
    if not found:
        topics = ", ".join(sorted({feed.source.kafka.topic for feed in feeds}))
        raise FeedError(f"topic {topic!r}", "is read by no feed", f"Use one of: {topics}")
    if len(found) > 1:
        names = ", ".join(feed.feed for feed in found)
        raise FeedError(f"topic {topic!r}", f"is read by several feeds ({names})", "Name --feed")
    return found[0]


def endpoints_if_any(settings: Settings) -> Endpoints | None:
    """Broker and registry, or None where none runs."""
    try:
        return control.locate(settings)
    except ServiceError:
        return None
