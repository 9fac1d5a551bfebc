"""`lake-assets offsets`: where in a feed's topics a time is, as `starting_offsets` says it."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from lake_assets.cli.answer import tell
from lake_assets.cli.console import stdout
from lake_assets.cli.shared import (
    FeedsOption,
    HomeOption,
    JsonOption,
    OneFeedOption,
    pick_feed,
)
from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.sources import KafkaSource
from lake_assets.services import control
from lake_assets.settings.load import load_settings
from lake_assets.sources.kafka.offsets_at import offsets_at


def offsets(
    *,
    since: Annotated[
        datetime,
        typer.Option(
            formats=["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S"],
            help="A time (UTC), as Kafka has it of the rows.",
        ),
    ],
    feed: OneFeedOption = None,
    home: HomeOption = None,
    feeds_folder: FeedsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say at which offsets of a feed's topics a time is: a line for the feed's file.

    By partition it is the offset of the first row with this time or a later one, or the end if
    there is none. Nothing is changed. `starting_offsets` counts only where the lake has no row of
    the topic yet.
    """
    settings = load_settings(home=home, feeds=feeds_folder)
    one = pick_feed(settings, feed)
    topics = _topics_of(one)
    endpoints = control.locate(settings, [one])
    found = {topic: offsets_at(endpoints, topic, since.replace(tzinfo=UTC)) for topic in topics}
    tell("offsets", found, as_json=as_json, show=lambda: _show(one, found))


def _topics_of(feed: Feed) -> tuple[str, ...]:
    declared = feed.source.declared
    if not isinstance(declared, KafkaSource):
        fact = f"reads {declared.title}, which has no offsets of its own"
        raise FeedError(f"feed {feed.feed!r}", fact, "Name a feed that reads Kafka")
    if declared.pattern is not None:
        fact = f"reads {declared.title}; topics that a pattern finds begin at their first row"
        raise FeedError(f"feed {feed.feed!r}", fact, "Name the topics to begin elsewhere")
    return declared.names


def _show(feed: Feed, found: dict[str, dict[int, int]]) -> None:
    texts = {
        topic: "{" + ", ".join(f"{number}: {offset}" for number, offset in places.items()) + "}"
        for topic, places in found.items()
    }
    by_name = "{" + ", ".join(f"{topic}: {text}" for topic, text in texts.items()) + "}"
    one = texts[next(iter(texts))] if feed.source.declared.is_one else by_name
    stdout.print(f"starting_offsets: {one}", markup=False, highlight=False, soft_wrap=True)
