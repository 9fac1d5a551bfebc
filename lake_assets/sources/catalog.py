"""Which sources there are: the one place that maps what a feed declares to a source."""

from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.sources import DeclaredSource, KafkaSource
from lake_assets.sources.base import Source
from lake_assets.sources.kafka.source import KafkaTopic

SOURCES: dict[type[DeclaredSource], type[Source]] = {KafkaSource: KafkaTopic}
"""By what a feed declares of it."""


def source_of(feed: Feed, endpoints: Endpoints) -> Source:
    """The source of a feed's rows; asks nobody yet."""
    return kind_of(feed).of(feed.source.declared, endpoints)


def kind_of(feed: Feed) -> type[Source]:
    """The kind of a feed's source, for what is the same of all of them."""
    return SOURCES[type(feed.source.declared)]
