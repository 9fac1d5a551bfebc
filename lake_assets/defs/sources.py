"""What feeds read, as assets that streams look at: a topic, a folder, a table; one a source."""

from collections.abc import Mapping, Sequence

import dagster as dg

from lake_assets.defs.grouping import AssetLayer, of_lake
from lake_assets.defs.keys import backup_key, erasures_key, named, own_keys, source_keys
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """One asset a source, however many feeds read it."""
    keys = keys_of_sources(settings, feeds)
    sources = {
        key: _source(settings, key, feed, name)
        for feed in feeds
        for name, key in keys[feed.feed].items()
    }
    return dg.Definitions(assets=[*sources.values()])


def keys_of_sources(
    settings: Settings, feeds: Sequence[Feed]
) -> Mapping[str, Mapping[str, dg.AssetKey]]:
    """By feed and name, the assets of what it reads; the same for one feed and beside all."""
    lake = {each.feed: each for feed in feeds for each in (*feed.others, feed)}
    taken = {key for feed in lake.values() for key in own_keys(settings, feed)}
    if settings.backup.target is not None:
        taken.add(backup_key(settings))
    taken.add(erasures_key(settings))
    return {feed.feed: source_keys(settings, feed, taken) for feed in feeds}


def _source(settings: Settings, key: dg.AssetKey, feed: Feed, name: str) -> dg.AssetSpec:
    declared = feed.source.declared
    title = f"{declared.system} {declared.title_of(name) if declared.names else declared.title}"
    return dg.AssetSpec(
        key,
        **of_lake(settings, AssetLayer.SOURCE),
        description=f"{title}: what comes in. Read by the job `{named(settings, 'streams')}`, or "
        "by the feed's own job if it has a schedule.",
        kinds={declared.kind},
        metadata={declared.origin.name: name},
    )
