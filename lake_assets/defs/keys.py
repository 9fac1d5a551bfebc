"""What the assets are called, and how they are grouped and partitioned.

The feed `games`, which ships with the package, has the plain keys `silver_events` and
`gold_{view}`; any other feed puts its name in: `silver_{feed}_events`, `gold_{feed}_{view}`. Bronze
and quarantine are called as their tables.
"""

import re
from collections.abc import Collection, Sequence

import dagster as dg

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.gold_views import GoldView
from lake_assets.model.sinks import Sink
from lake_assets.model.tables import EVERY_KEY, Layer, bronze_of, quarantine_of

OWNERS = ["team:lake"]

_PLAIN = "games"

BACKUP_KEY = dg.AssetKey("backup")
"""The last copy of the whole lake."""

ERASURES_KEY = dg.AssetKey("erasures")
"""Whose rows were erased, by keyed hashes."""

CATALOG_KEY = dg.AssetKey("catalog")
"""The tables as a catalogue of others has them."""


def source_keys(feed: Feed, taken: Collection[dg.AssetKey]) -> dict[str, dg.AssetKey]:
    """By name what a feed reads, such as topics; feeds that read the same one share it.

    What a pattern finds is one asset, under the pattern: topics come and go while Dagster runs.

    Nobody can rename a topic, so one that is called as another asset has its kind before that; no
    other has, since Dagster forgets what it knows of an asset whose key changes.

    Args:
        feed: reads it.
        taken: the keys of all assets that are no sources.
    """
    declared = feed.source.declared
    named = {name: re.sub(r"[^A-Za-z0-9_]", "_", name) for name in declared.names}
    if feed.source.is_indexed:
        named = dict.fromkeys(named, f"{declared.kind}_of_{feed.feed}")  # each feed's are its own
    texts = named or {declared.label: f"sources_of_{feed.feed}"}
    keys = {name: dg.AssetKey(text) for name, text in texts.items()}
    return {
        name: dg.AssetKey(f"{declared.kind}_{texts[name]}") if key in taken else key
        for name, key in keys.items()
    }


def own_keys(feed: Feed) -> set[dg.AssetKey]:
    """The keys of a feed's assets, without its source's."""
    keys = {bronze_key(feed), maintenance_key(feed)}
    keys |= {quarantine_key(feed)} if feed.has_silver else set()
    keys |= {silver_key(feed)} if feed.has_silver and feed.into is None else set()
    keys |= {sink_key(feed, sink) for sink in feed.sinks}
    keys |= {external_key(feed, name) for name in feed.external}
    return keys | {gold_key(feed, view) for view in feed.gold}


def bronze_key(feed: Feed) -> dg.AssetKey:
    """The feed's raw table."""
    return dg.AssetKey(bronze_of(feed.feed).name)


def quarantine_key(feed: Feed) -> dg.AssetKey:
    """The feed's refused rows."""
    return dg.AssetKey(quarantine_of(feed.feed).name)


def silver_key(feed: Feed) -> dg.AssetKey:
    """All silver tables that a feed fills, one partition a key; of several feeds it is the same."""
    owner = tables_owner(feed)
    return dg.AssetKey("silver_events" if owner == _PLAIN else f"silver_{owner}_events")


def gold_key(feed: Feed, view: GoldView) -> dg.AssetKey:
    """All gold tables of a view, one partition a key; a view over all keys has one and none."""
    return dg.AssetKey(f"{gold_prefix(feed)}_{view.name}")


def sink_key(feed: Feed, sink: Sink) -> dg.AssetKey:
    """What a sink was sent."""
    name = "" if feed.feed == _PLAIN else f"{feed.feed}_"
    return dg.AssetKey(f"sink_{name}{sink.name}")


def external_key(feed: Feed, name: str) -> dg.AssetKey:
    """A table outside the lake that the feed's views read."""
    return dg.AssetKey(f"external_{feed.feed}_{name}")


def maintenance_key(feed: Feed) -> dg.AssetKey:
    """The upkeep of all tables of a feed."""
    return dg.AssetKey("maintenance" if feed.feed == _PLAIN else f"maintenance_{feed.feed}")


def gold_prefix(feed: Feed) -> str:
    """What the names of all that a feed has of gold begin with."""
    return "gold" if feed.feed == _PLAIN else f"gold_{feed.feed}"


def partition_of(scope: str) -> str | None:
    """The partition of a view's table: its key, or none where it is of all keys."""
    return None if scope == EVERY_KEY else scope


def key_partitions(feed: Feed, lake: str) -> dg.DynamicPartitionsDefinition:
    """The feed's keys in a lake; the supervisor and the streams add new ones while Dagster runs.

    Dagster keeps one set of partitions under a name for all code locations, hence the lake's id.
    """
    return dg.DynamicPartitionsDefinition(name=f"{tables_owner(feed)}_{lake}")


def key_pattern(feed: Feed) -> str:
    """What stands for a key where one name tells of all its tables; the key itself if it is one."""
    return "{key}" if feed.all_routes else tables_owner(feed)


def name_of(asset: dg.AssetKey) -> str:
    """An asset's key as a user reads it."""
    return "/".join(asset.path)


def identifier_of(asset: dg.AssetKey) -> str:
    """An asset's key as a part of the name of a job, a schedule or an op."""
    return "__".join(asset.path).replace("-", "_").replace(".", "_")


def group_of(layer: Layer) -> str:
    """The group of a layer's assets; refused rows are shown beside what they were refused for."""
    return Layer.SILVER.value if layer is Layer.QUARANTINE else layer.value


def ensure_unique(feeds: Sequence[Feed]) -> None:
    """Make sure that no two assets have one key.

    Raises:
        FeedError: they do, as view `x_y` of feed `games` and view `y` of a feed `x` would.
    """
    seen: dict[dg.AssetKey, str] = {}
    for feed in feeds:
        keys = own_keys(feed)
        for key in sorted(keys):
            if key in seen:
                raise FeedError(
                    f"feed {feed.feed!r}",
                    f"its asset {name_of(key)} has the name of one of feed {seen[key]!r}",
                    "Rename the feed or its gold view",
                )
        seen |= dict.fromkeys(keys, feed.feed)
