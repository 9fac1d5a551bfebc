"""Expectations of silver as they stand in its tables, as results of Dagster's checks."""

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from lake_assets.defs.internals.materializations import latest_ids
from lake_assets.defs.keys import silver_key
from lake_assets.defs.lazy_imports import recheck
from lake_assets.defs.reports import Target, evaluation_of
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import expectations_of_tables
from lake_assets.settings.schema import Settings

if TYPE_CHECKING:
    from lake_assets.spark.lent_session import LendSpark

Step = dg.AssetExecutionContext | dg.AssetCheckExecutionContext | dg.OpExecutionContext


def recounted(
    context: Step,
    settings: Settings,
    feed: Feed,
    names: Collection[str],
    keys: Sequence[str],
    lend: "LendSpark",
) -> Iterator[dg.AssetCheckEvaluation]:
    """Count the rows of some keys that violate expectations of these names."""
    silver = silver_key(settings, feed)
    results = recheck(settings, feed, keys, lend)
    ids = latest_ids(context.instance, silver, {key for key, _ in results})
    expectations = {each.name: each for each in expectations_of_tables(feed)}
    for (key, name), judged in results.items():
        if name in names and name in expectations:
            yield evaluation_of(
                dg.AssetCheckKey(silver, name),
                key,
                expectations[name],
                judged,
                Target(run_id=context.run.run_id, storage_id=ids.get(key)),
            )
