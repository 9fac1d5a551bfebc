"""The source and bronze, as assets that the streams write and Dagster looks at."""

from collections.abc import Sequence

import dagster as dg

from lake_assets.defs.freshness import freshness_policy
from lake_assets.defs.gap_check import gap_check
from lake_assets.defs.keys import (
    backup_key,
    bronze_key,
    erasures_key,
    group_of,
    own_keys,
    source_keys,
)
from lake_assets.defs.metadata import declared_metadata
from lake_assets.defs.stream_check import stream_check
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.tables import Layer, bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """One asset a source; one bronze asset a feed, with its check."""
    keys = keys_of_sources(settings, feeds)
    sources = {
        key: _source(settings, key, feed, name)
        for feed in feeds
        for name, key in keys[feed.feed].items()
    }
    bronze = (_bronze(settings, feed, [*keys[feed.feed].values()]) for feed in feeds)
    return dg.Definitions(
        assets=[*sources.values(), *bronze],
        asset_checks=[
            *(gap_check(settings, feed) for feed in feeds),
            *(stream_check(settings, feed) for feed in supervised(feeds)),
        ],
    )


def keys_of_sources(settings: Settings, feeds: Sequence[Feed]) -> dict[str, dict[str, dg.AssetKey]]:
    """By feed, the assets of what it reads, by name."""
    taken = {key for feed in feeds for key in own_keys(settings, feed)}
    if settings.backup.target is not None:
        taken.add(backup_key(settings))
    taken.add(erasures_key(settings))
    return {feed.feed: source_keys(settings, feed, taken) for feed in feeds}


def _source(settings: Settings, key: dg.AssetKey, feed: Feed, name: str) -> dg.AssetSpec:
    declared = feed.source.declared
    title = f"{declared.system} {declared.title_of(name) if declared.names else declared.title}"
    return dg.AssetSpec(
        key,
        group_name="sources",
        description=f"{title}: what comes in. Read by the job `streams`, or by the feed's own job "
        "if it has a schedule.",
        kinds={declared.kind},
        owners=settings.dagster.owners,
        metadata={declared.origin.name: name},
    )


def _bronze(settings: Settings, feed: Feed, sources: Sequence[dg.AssetKey]) -> dg.AssetSpec:
    return dg.AssetSpec(
        bronze_key(settings, feed),
        deps=[*dict.fromkeys(sources)],
        group_name=group_of(Layer.BRONZE),
        description=(
            f"Every row of `{feed.source.declared.label}` as it came: raw bytes and origin. "
            "Never decoded, never dropped."
        ),
        kinds={"delta", "spark"},
        owners=settings.dagster.owners,
        metadata=declared_metadata(lake_of(settings), bronze_of(feed.feed)),
        freshness_policy=freshness_policy(settings, [feed]),
    )
