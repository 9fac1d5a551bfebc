"""What a gold view reads, as Dagster's dependencies, and which views one refresh takes together.

The order itself is `model.view_order`'s.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

import dagster as dg

from lake_assets.defs.keys import external_key, gold_key, silver_key
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.view_order import in_order
from lake_assets.settings.schema import Settings


def deps_of(settings: Settings, feed: Feed, view: GoldView) -> list[dg.AssetDep]:
    """What a view reads; a key's table of its own feed only of that key."""
    deps: dict[dg.AssetKey, dg.AssetDep] = {}
    for source in view.sources:
        if source.external:
            key = external_key(settings, feed, source.external)
            deps[key] = dg.AssetDep(key)
            continue
        whose = feed.feed_of(source.feed)
        read = whose.view(source.view) if source.view else None
        key = silver_key(settings, whose) if read is None else gold_key(settings, whose, read)
        is_of_keys = read is None or not read.is_over_all
        # Of a view that has no partitions itself, Dagster takes all by itself.
        is_all = is_of_keys and not source.is_of_key and not view.is_over_all
        mapping = dg.AllPartitionMapping() if is_all else None
        deps[key] = dg.AssetDep(key, partition_mapping=mapping)
    return list(deps.values())


def parts_of(
    feed: Feed, names: Collection[str], keys: Sequence[str], known: Collection[str]
) -> Iterator[tuple[list[str], Sequence[str] | None]]:
    """Views that are refreshed together, in order, each part with its keys, or None for all.

    Views over all are a part of their own where only some keys are asked for.
    """
    ordered = in_order(feed, [view for view in feed.gold if view.name in names])
    if set(keys) >= set(known):
        yield [view.name for view in ordered], None
        return
    for is_over_all, views in groupby(ordered, key=lambda view: view.is_over_all):
        if is_over_all or keys:
            yield [view.name for view in views], None if is_over_all else keys
