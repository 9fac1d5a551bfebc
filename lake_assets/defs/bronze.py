"""The topic and bronze, as assets that the streams write and Dagster looks at."""

from collections.abc import Sequence

import dagster as dg

from lake_assets.defs.keys import OWNERS, bronze_key, group_of, topic_key
from lake_assets.defs.metadata import declared_metadata
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import Layer, bronze_of
from lake_assets.settings.schema import Settings


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """One asset a topic and one bronze asset a feed."""
    topics = {topic_key(feed): _topic(feed) for feed in feeds}
    return dg.Definitions(assets=[*topics.values(), *(_bronze(settings, feed) for feed in feeds)])


def _topic(feed: Feed) -> dg.AssetSpec:
    topic = feed.source.kafka.topic
    return dg.AssetSpec(
        topic_key(feed),
        group_name="sources",
        description=f"Kafka topic `{topic}`: what producers send. Read by the job `streams`.",
        kinds={"kafka"},
        owners=OWNERS,
        metadata={"topic": topic},
    )


def _bronze(settings: Settings, feed: Feed) -> dg.AssetSpec:
    return dg.AssetSpec(
        bronze_key(feed),
        deps=[topic_key(feed)],
        group_name=group_of(Layer.BRONZE),
        description=(
            f"Every message of `{feed.source.kafka.topic}` as it came: raw bytes, headers and "
            "origin. Never decoded, never dropped."
        ),
        kinds={"delta", "spark"},
        owners=OWNERS,
        metadata=declared_metadata(settings.lake_dir, bronze_of(feed.feed)),
    )
