"""Bronze: assets that the streams write and Dagster looks at."""

from collections.abc import Sequence

import dagster as dg

from lake_assets.defs.code_references import code_references
from lake_assets.defs.freshness import freshness_policy
from lake_assets.defs.gap_check import gap_check
from lake_assets.defs.grouping import AssetLayer, of_feed
from lake_assets.defs.keys import bronze_key
from lake_assets.defs.metadata import declared_metadata
from lake_assets.defs.sources import keys_of_sources
from lake_assets.defs.stream_check import stream_check
from lake_assets.model.feeds import Feed, supervised
from lake_assets.model.tables import bronze_of
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """One bronze asset a feed, with its check."""
    sources = keys_of_sources(settings, feeds)
    return dg.Definitions(
        assets=[_bronze(settings, feed, [*sources[feed.feed].values()]) for feed in feeds],
        asset_checks=[
            *(gap_check(settings, feed) for feed in feeds),
            *(stream_check(settings, feed) for feed in supervised(feeds)),
        ],
    )


def _bronze(settings: Settings, feed: Feed, sources: Sequence[dg.AssetKey]) -> dg.AssetSpec:
    return dg.AssetSpec(
        bronze_key(settings, feed),
        deps=[*dict.fromkeys(sources)],
        **of_feed(settings, feed, AssetLayer.BRONZE),
        description=(
            f"Every row of `{feed.source.declared.label}` as it came: raw bytes and origin. "
            "Never decoded, never dropped."
        ),
        kinds={"delta", "spark"},
        metadata={
            **declared_metadata(lake_of(settings), bronze_of(feed.feed)),
            **code_references(settings, feed),
        },
        freshness_policy=freshness_policy(settings, [feed]),
    )
