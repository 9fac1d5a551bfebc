"""How assets are sorted on Dagster's pages: a group a feed, tags by feed and layer, owners.

`tag:"lake_assets/layer"="gold"` in the search field of the catalogue finds the gold of all feeds,
`group:"games"` all that is of one feed. What is of no feed alone is in the groups `sources` and
`maintenance`. Groups have the lake's prefix, so that two lakes in one location have their own.
"""

from enum import StrEnum
from typing import TypedDict

from lake_assets.defs.keys import named
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings

FEED, LAYER = "lake_assets/feed", "lake_assets/layer"


class AssetLayer(StrEnum):
    """What an asset is, as its tag says."""

    SOURCE = "source"
    BRONZE = "bronze"
    SILVER = "silver"
    QUARANTINE = "quarantine"
    GOLD = "gold"
    SINK = "sink"
    EXTERNAL = "external"  # a table of others
    MAINTENANCE = "maintenance"  # work on tables


class Grouping(TypedDict):
    """Arguments of an asset's spec."""

    group_name: str
    tags: dict[str, str]
    owners: list[str]


def of_feed(settings: Settings, feed: Feed, layer: AssetLayer) -> Grouping:
    """Of what is one feed's."""
    return Grouping(
        group_name=named(settings, feed.feed),
        tags={FEED: feed.feed, LAYER: layer.value},
        owners=[*settings.dagster.owners],
    )


def of_lake(settings: Settings, layer: AssetLayer) -> Grouping:
    """Of what is of no feed alone."""
    group = "sources" if layer is AssetLayer.SOURCE else "maintenance"
    return Grouping(
        group_name=named(settings, group),
        tags={LAYER: layer.value},
        owners=[*settings.dagster.owners],
    )
