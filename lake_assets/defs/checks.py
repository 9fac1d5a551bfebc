"""Dataset checks as Dagster's asset checks: of silver and of gold, a result a key.

"Execute" in the UI evaluates them; gold's are evaluated by each refresh, too, and so are those of
silver that may hold it up.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from lake_assets.defs.hand_runs import gold_pool, limit_runtime, silver_pool
from lake_assets.defs.internals.asset_checks import partitioned_check
from lake_assets.defs.keys import gold_key, identifier_of, key_partitions, silver_key
from lake_assets.defs.lake_resource import lake_in, resource_key, resources
from lake_assets.defs.lazy_imports import check_gold, check_silver
from lake_assets.defs.processes import note_process
from lake_assets.defs.reports import results_of
from lake_assets.delta.catalog import keys_of
from lake_assets.model.checks import DatasetCheck, GoldCheck, SilverCheck
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of

MAX_RUNTIME_S = 3600
"""After which run monitoring ends a run of checks that hangs; they read whole tables at most."""

Partitions = dg.PartitionsDefinition | None


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The checks of each feed's silver and of each gold view."""
    return dg.Definitions(
        asset_checks=[
            *(_of_silver(settings, feed) for feed in feeds if feed.checks),
            *(
                _of_gold(settings, feed, view)
                for feed in feeds
                for view in feed.gold
                if view.checks or view.expectations
            ),
        ],
        resources=resources(settings, feeds),
    )


def keys_asked_for(
    context: dg.AssetCheckExecutionContext, settings: Settings, feed: Feed
) -> Sequence[str]:
    """The partitions a run is for; without any, all keys."""
    if context.has_partition_key or context.has_partition_key_range:
        keys: Sequence[str] = context.partition_keys
        return keys
    return keys_of(lake_of(settings), feed)


def _of_silver(settings: Settings, feed: Feed) -> dg.AssetChecksDefinition:
    silver, lake = silver_key(settings, feed), lake_id(settings)

    @dg.multi_asset_check(
        name=f"{identifier_of(silver)}_checks",
        specs=[_spec(key_partitions(feed, lake), silver, check) for check in feed.checks],
        can_subset=True,
        required_resource_keys={resource_key(settings)},
        pool=silver_pool(lake),
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckEvaluation]:
        note_process(context.instance, context.run.run_id, lake)
        limit_runtime(context.instance, context.run, MAX_RUNTIME_S)
        names = {key.name for key in context.selected_asset_check_keys}
        results = check_silver(
            settings,
            feed,
            [silver_check for silver_check in feed.checks if silver_check.name in names],
            keys_asked_for(context, settings, feed),
            lake_in(context, settings).lend,
        )
        yield from results_of(context.instance, context.run.run_id, silver, results)

    return check


def _of_gold(settings: Settings, feed: Feed, view: GoldView) -> dg.AssetChecksDefinition:
    gold, lake = gold_key(settings, feed, view), lake_id(settings)
    partitions = None if view.is_over_all else key_partitions(feed, lake)

    @dg.multi_asset_check(
        name=f"{identifier_of(gold)}_checks",
        specs=[
            *(_expected(partitions, gold, expectation) for expectation in view.expectations),
            *(_spec(partitions, gold, check) for check in view.checks),
        ],
        can_subset=True,
        required_resource_keys={resource_key(settings)},
        pool=gold_pool(lake),
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckEvaluation]:
        note_process(context.instance, context.run.run_id, lake)
        limit_runtime(context.instance, context.run, MAX_RUNTIME_S)
        names = {key.name for key in context.selected_asset_check_keys}
        keys = keys_asked_for(context, settings, feed)
        lend = lake_in(context, settings).lend
        results = check_gold(settings, feed, view, names, view.scopes(keys), lend)
        yield from results_of(context.instance, context.run.run_id, gold, results)

    return check


def _expected(
    partitions: Partitions, asset: dg.AssetKey, expectation: Expectation
) -> dg.AssetCheckSpec:
    words = (
        f"`{expectation.sql}` holds for every row of the view. {_CONSEQUENCE[expectation.action]}"
    )
    return partitioned_check(expectation.name, asset, partitions, words)


_CONSEQUENCE = {
    Action.WARN: "Rows that violate it are kept and counted.",
    Action.DROP: "Rows that violate it are left out of the view and counted.",
    Action.FAIL: "A refresh fails before it changes anything if a row violates it.",
}


def _spec(partitions: Partitions, asset: dg.AssetKey, check: DatasetCheck) -> dg.AssetCheckSpec:
    return partitioned_check(check.name, asset, partitions, _in_words(check))


def _in_words(check: DatasetCheck) -> str:
    if check.unique is not None:
        words = f"No two rows have the same {', '.join(check.unique)}."
    elif check.row_count is not None:
        words = f"The table's rows are {check.row_count}."
    elif check.freshness is not None:
        words = f"The newest {check.freshness.column} is {check.freshness} old."
    elif isinstance(check, GoldCheck):
        words = f"The sum of {check.equals_source} is the number of silver rows it stands for."
    else:
        words = ""
    is_blocking = isinstance(check, SilverCheck) and check.blocking
    effect = " While it fails for a key, that key's gold views stay as they are."
    return words + (effect if is_blocking else "")
