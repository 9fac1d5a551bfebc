"""Which partitions a scheduled refresh plans in Dagster: those that are behind, and no others.

Dagster calls a partition failed that a failed run has planned and not materialized. A run's tags
can name one range of partitions only, and a run that names none does not run partitioned assets
whose sources were materialized. So a scheduled run names one key that is behind, and plans the
others that are itself, before it refreshes them.
"""

from collections.abc import Collection, Mapping, Sequence

import dagster as dg

from lake_assets.defs.internals.materializations import plan_materialization
from lake_assets.defs.internals.runs import range_tags
from lake_assets.defs.keys import gold_key
from lake_assets.defs.lazy_imports import views_behind
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import fillers
from lake_assets.settings.schema import Settings
from lake_assets.state.failing_expectations import failures_of_tables

_KEYS = "lake_assets/keys"
"""Tag of a run that refreshes other keys than those that Dagster's tags name."""

_BEHIND = "behind"


def tags_of_behind(behind: Mapping[str, Collection[str]], known: Sequence[str]) -> dict[str, str]:
    """Tags of a run that refreshes what is behind, whatever is when it runs.

    Args:
        behind: by view that the run refreshes, the keys that are behind.
        known: all keys, of which Dagster has partitions.

    Returns:
        With one key, that is behind in as many of these views as any: a run plans it for all of
        them. Empty if none of the known is behind.
    """
    lacking = [key for key in known if any(key in keys for keys in behind.values())]
    if not lacking:
        return {}
    named = max(lacking, key=lambda key: sum(key in keys for keys in behind.values()))
    return {**range_tags([named]), _KEYS: _BEHIND}


def is_of_behind(run: dg.DagsterRun) -> bool:
    """Whether a run refreshes what is behind, whatever keys its other tags name."""
    return run.tags.get(_KEYS) == _BEHIND


def plan_behind(
    context: dg.AssetExecutionContext,
    settings: Settings,
    feed: Feed,
    views: Collection[str],
    known: Collection[str],
) -> None:
    """Plan what is behind of a run's views, but for the key that Dagster has planned.

    Raises:
        LakeError: a table's log cannot be read.
    """
    failures = failures_of_tables(settings.state_dir, fillers(feed))
    planned = set(context.partition_keys)
    behind = views_behind(settings, feed, failures, views=views)
    for view in feed.gold:
        if view.name in views and not view.is_over_all:
            for key in sorted(set(behind[view.name]) & set(known) - planned):
                plan_materialization(context, gold_key(settings, feed, view), key)
