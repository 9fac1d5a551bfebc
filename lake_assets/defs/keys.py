"""What the assets are called, and how they are partitioned.

The feed `games`, which ships with the package, has the plain keys `silver_events` and
`gold_{view}`; any other feed puts its name in: `silver_{feed}_events`, `gold_{feed}_{view}`. Bronze
and quarantine are called as their tables. Before all of them comes the prefix of the settings
(`dagster.key_prefix`), and so it does in names of jobs, schedules, sensors and ops (`named`): two
lakes go together in one code location.
"""

import re
from collections.abc import Collection, Sequence

import dagster as dg

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.gold_views import GoldView
from lake_assets.model.sinks import Sink
from lake_assets.model.tables import EVERY_KEY, bronze_of, quarantine_of
from lake_assets.settings.schema import Settings

_PLAIN = "games"


def key_of(settings: Settings, name: str) -> dg.AssetKey:
    """The key of the lake's asset of this name."""
    return dg.AssetKey([*settings.dagster.key_prefix, name])


def named(settings: Settings, name: str) -> str:
    """What a job, a schedule, a sensor or an op of the lake is called."""
    return "_".join([*settings.dagster.key_prefix, name])


def backup_key(settings: Settings) -> dg.AssetKey:
    """The last copy of the whole lake."""
    return key_of(settings, "backup")


def erasures_key(settings: Settings) -> dg.AssetKey:
    """Whose rows were erased, by keyed hashes."""
    return key_of(settings, "erasures")


def catalog_key(settings: Settings) -> dg.AssetKey:
    """The tables as a catalogue of others has them."""
    return key_of(settings, "catalog")


def source_keys(
    settings: Settings, feed: Feed, taken: Collection[dg.AssetKey]
) -> dict[str, dg.AssetKey]:
    """By name what a feed reads, such as topics; feeds that read the same one share it.

    What a pattern finds is one asset, under the pattern: topics come and go while Dagster runs.

    Nobody can rename a topic, so one that is called as another asset has its kind before that; no
    other has, since Dagster forgets what it knows of an asset whose key changes.

    Args:
        settings: have the prefix.
        feed: reads it.
        taken: the keys of all assets that are no sources.
    """
    declared = feed.source.declared
    plain = {name: re.sub(r"[^A-Za-z0-9_]", "_", name) for name in declared.names}
    if feed.source.is_indexed:
        plain = dict.fromkeys(plain, f"{declared.kind}_of_{feed.feed}")  # each feed's are its own
    texts = plain or {declared.label: f"sources_of_{feed.feed}"}
    keys = {name: key_of(settings, text) for name, text in texts.items()}
    return {
        name: key_of(settings, f"{declared.kind}_{texts[name]}") if key in taken else key
        for name, key in keys.items()
    }


def own_keys(settings: Settings, feed: Feed) -> set[dg.AssetKey]:
    """The keys of a feed's assets, without its source's."""
    keys = {bronze_key(settings, feed), maintenance_key(settings, feed)}
    keys |= {quarantine_key(settings, feed)} if feed.has_silver else set()
    keys |= {silver_key(settings, feed)} if feed.has_silver and feed.into is None else set()
    keys |= {sink_key(settings, feed, sink) for sink in feed.sinks}
    keys |= {external_key(settings, feed, name) for name in feed.external}
    return keys | {gold_key(settings, feed, view) for view in feed.gold}


def bronze_key(settings: Settings, feed: Feed) -> dg.AssetKey:
    """The feed's raw table."""
    return key_of(settings, bronze_of(feed.feed).name)


def quarantine_key(settings: Settings, feed: Feed) -> dg.AssetKey:
    """The feed's refused rows."""
    return key_of(settings, quarantine_of(feed.feed).name)


def silver_key(settings: Settings, feed: Feed) -> dg.AssetKey:
    """All silver tables that a feed fills, one partition a key; of several feeds it is the same."""
    return key_of(settings, silver_name(tables_owner(feed)))


def gold_key(settings: Settings, feed: Feed, view: GoldView) -> dg.AssetKey:
    """All gold tables of a view, one partition a key; a view over all keys has one and none."""
    return key_of(settings, gold_name(feed.feed, view.name))


def sink_key(settings: Settings, feed: Feed, sink: Sink) -> dg.AssetKey:
    """What a sink was sent."""
    name = "" if feed.feed == _PLAIN else f"{feed.feed}_"
    return key_of(settings, f"sink_{name}{sink.name}")


def external_key(settings: Settings, feed: Feed, name: str) -> dg.AssetKey:
    """A table outside the lake that the feed's views read."""
    return key_of(settings, f"external_{feed.feed}_{name}")


def maintenance_key(settings: Settings, feed: Feed) -> dg.AssetKey:
    """The upkeep of all tables of a feed."""
    return key_of(settings, "maintenance" if feed.feed == _PLAIN else f"maintenance_{feed.feed}")


def gold_prefix(feed: Feed) -> str:
    """What the names of all that a feed has of gold begin with."""
    return "gold" if feed.feed == _PLAIN else f"gold_{feed.feed}"


def silver_name(feed: str) -> str:
    """The name of the asset of silver tables that are a feed's own."""
    return "silver_events" if feed == _PLAIN else f"silver_{feed}_events"


def gold_name(feed: str, view: str) -> str:
    """The name of a view's asset."""
    return f"gold_{view}" if feed == _PLAIN else f"gold_{feed}_{view}"


def partition_of(scope: str) -> str | None:
    """The partition of a view's table: its key, or none where it is of all keys."""
    return None if scope == EVERY_KEY else scope


def key_partitions(feed: Feed, lake: str) -> dg.DynamicPartitionsDefinition:
    """The feed's keys in a lake; the supervisor and the streams add new ones while Dagster runs.

    Dagster keeps one set of partitions under a name for all code locations, hence the lake's id.
    """
    return partitions_named(tables_owner(feed), lake)


def partitions_named(owner: str, lake: str) -> dg.DynamicPartitionsDefinition:
    """The keys whose tables are a feed's own, in a lake of this id."""
    return dg.DynamicPartitionsDefinition(name=f"{owner}_{lake}")


def key_pattern(feed: Feed) -> str:
    """What stands for a key where one name tells of all its tables; the key itself if it is one."""
    return "{key}" if feed.all_routes else tables_owner(feed)


def name_of(asset: dg.AssetKey) -> str:
    """An asset's key as a user reads it."""
    return "/".join(asset.path)


def identifier_of(asset: dg.AssetKey) -> str:
    """An asset's key as a part of the name of a job, a schedule or an op."""
    return "_".join(asset.path).replace("-", "_").replace(".", "_")


def ensure_unique(settings: Settings, feeds: Sequence[Feed]) -> None:
    """Make sure that no two assets have one key.

    Raises:
        FeedError: they do, as view `x_y` of feed `games` and view `y` of a feed `x` would.
    """
    seen: dict[dg.AssetKey, str] = {}
    for feed in feeds:
        keys = own_keys(settings, feed)
        for key in sorted(keys):
            if key in seen:
                raise FeedError(
                    f"feed {feed.feed!r}",
                    f"its asset {name_of(key)} has the name of one of feed {seen[key]!r}",
                    "Rename the feed or its gold view",
                )
        seen |= dict.fromkeys(keys, feed.feed)
