"""Silver as an asset whose materialization is a rebuild: the clicked partitions, from bronze.

The streams tell of the same asset as rows come in; nothing of ours but a click starts this. How
rows are derived again, beside the live streams, is `streams.reprocess`'.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from lake_assets.defs.hand_runs import limit_runtime, silver_pool
from lake_assets.defs.keys import identifier_of, named
from lake_assets.defs.lake_resource import lake_in, resource_key
from lake_assets.defs.lazy_imports import locate, rebuild_silver
from lake_assets.defs.metadata import Metadata, table_metadata
from lake_assets.defs.processes import note_process
from lake_assets.feeds.load import find_feed
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import fillers
from lake_assets.settings.schema import Settings
from lake_assets.silver.noted_columns import in_words, noted_columns_of
from lake_assets.silver.redone import Redone
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of

MAX_RUNTIME_S = 24 * 3600
"""After which run monitoring ends a rebuild; one of a large bronze takes hours."""


def rebuilt_silver(
    settings: Settings, feeds: Sequence[Feed], feed: Feed, spec: dg.AssetSpec
) -> dg.AssetsDefinition:
    """The asset of a feed's silver, with the rebuild as what materializes it."""
    lake, filling = lake_id(settings), [find_feed(feeds, name) for name in fillers(feed)]

    @dg.multi_asset(
        name=named(settings, f"rebuild_{identifier_of(dg.AssetKey(spec.key.path[-1:]))}"),
        specs=[spec],
        backfill_policy=dg.BackfillPolicy.single_run(),
        required_resource_keys={resource_key(settings)},
        pool=silver_pool(lake),
    )
    def rebuild(context: dg.AssetExecutionContext) -> Iterator[dg.MaterializeResult]:
        note_process(context.instance, context.run.run_id, lake)
        limit_runtime(context.instance, context.run, MAX_RUNTIME_S)
        keys, lend = list(context.partition_keys), lake_in(context, settings).lend
        done = [
            rebuild_silver(settings, one, locate(settings, [one]), keys=keys, lend=lend)
            for one in filling
        ]
        for key in keys:
            metadata = {**silver_metadata(settings, feed, key), **rebuilt_metadata(feed, key, done)}
            context.add_asset_metadata(metadata, partition_key=key)
        yield dg.MaterializeResult(asset_key=spec.key)

    return rebuild


def silver_metadata(settings: Settings, feed: Feed, key: str) -> Metadata:
    """A key's table as it is now."""
    made = in_words(noted_columns_of(settings, feed, key))
    return table_metadata(lake_of(settings), feed.silver_table(key), made, is_partition=True)


def rebuilt_metadata(feed: Feed, key: str, done: Sequence[Redone]) -> Metadata:
    """What a rebuild did to a key's table."""
    name = feed.silver_table(key).name
    return {
        "rows_derived": dg.MetadataValue.int(sum(one.rows.get(name, 0) for one in done)),
        "rows_replaced": dg.MetadataValue.int(sum(one.removed.get(name, 0) for one in done)),
    }
