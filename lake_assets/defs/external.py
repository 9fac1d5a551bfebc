"""Tables outside the lake that views read: assets that others make, and none of our jobs does."""

from collections.abc import Sequence

import dagster as dg

from lake_assets.defs.code_references import code_references
from lake_assets.defs.grouping import AssetLayer, of_feed
from lake_assets.defs.keys import external_key
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """One asset a table that a feed names."""
    return dg.Definitions(
        assets=[
            dg.AssetSpec(
                external_key(settings, feed, name),
                **of_feed(settings, feed, AssetLayer.EXTERNAL),
                description=f"A Delta table outside the lake, `{table.delta}`, which views of "
                f"`{feed.feed}` read where it is. Nothing here writes to it.",
                kinds={"delta"},
                metadata={
                    "path": dg.MetadataValue.path(table.delta),
                    **code_references(settings, feed, external=name),
                },
            )
            for feed in feeds
            for name, table in feed.external.items()
        ]
    )
