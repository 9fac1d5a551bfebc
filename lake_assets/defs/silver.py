"""Silver and quarantine: tables that the streams write, and expectations as checks on silver.

The streams report the checks as rows come in; "Execute" in the UI counts what is in the tables.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from lake_assets.defs.checks import MAX_RUNTIME_S, keys_asked_for
from lake_assets.defs.code_references import code_references
from lake_assets.defs.column_lineage import lineage_metadata
from lake_assets.defs.freshness import freshness_policy
from lake_assets.defs.grouping import AssetLayer, of_feed
from lake_assets.defs.hand_runs import limit_runtime, silver_pool
from lake_assets.defs.internals.asset_checks import partitioned_check
from lake_assets.defs.keys import (
    bronze_key,
    identifier_of,
    key_partitions,
    key_pattern,
    quarantine_key,
    silver_key,
)
from lake_assets.defs.lake_resource import lake_in, resource_key, resources
from lake_assets.defs.metadata import declared_metadata, family_metadata
from lake_assets.defs.processes import note_process
from lake_assets.defs.rebuilt_silver import rebuilt_silver
from lake_assets.defs.recounts import recounted
from lake_assets.delta.catalog import example_keys
from lake_assets.delta.column_types import column_types
from lake_assets.model.expectations import Action, Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import flows_into
from lake_assets.model.tables import quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.noted_columns import in_words, noted_columns
from lake_assets.state.lake_id import lake_id
from lake_assets.storage.open_store import lake_of

_CONSEQUENCE = {
    Action.WARN: "Rows that violate it are kept and counted.",
    Action.DROP: (
        "Rows that violate it are dropped before the write and counted as they come in, so "
        "executing this check by hand, which counts what is in the table, finds none."
    ),
    Action.QUARANTINE: (
        "Rows that violate it go to quarantine and are counted as they come in: a warning, and an "
        "error where they are more than {share:.0%} of the rows."
    ),
    Action.FAIL: "A row that violates it stops the stream before its batch is committed.",
}

_BLOCKING = " While it fails for a key, that key's gold views stay as they are."


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """Silver, quarantine and checks of each feed."""
    return dg.Definitions(
        assets=[
            *(_quarantine(settings, feed) for feed in feeds if feed.has_silver),
            *(one for feed in feeds if feed.has_silver for one in _silver(settings, feeds, feed)),
        ],
        asset_checks=[
            _checks(settings, feed) for feed in feeds if feed.expectations and not feed.into
        ],
        resources=resources(settings, feeds),
    )


def _silver(settings: Settings, feeds: Sequence[Feed], feed: Feed) -> list[dg.AssetsDefinition]:
    """Of a feed that fills another's tables none: they are the other's asset."""
    if feed.into is not None:
        return []
    keys = example_keys(lake_of(settings), feed)
    pattern = feed.silver_table(key_pattern(feed))
    example = feed.silver_table(keys[0]) if keys else pattern
    made = noted_columns(settings, feed)
    names = [column.name for column in column_types(lake_of(settings), example)]
    several = feed.payload.subjects
    spec = dg.AssetSpec(
        silver_key(settings, feed),
        deps=[
            bronze_key(settings, feed),
            *(bronze_key(settings, each) for each in flows_into(feed)),
        ],
        partitions_def=key_partitions(feed, lake_id(settings)),
        **of_feed(settings, feed, AssetLayer.SILVER),
        description="Decoded, typed, append-only events: one table a key"
        + (f", {feed.deduplicate}." if feed.deduplicate else ".")
        + " The streams write them as rows come in. Materialize derives the partitions again from "
        "bronze, while they go on.",
        kinds={"delta", "spark"},
        metadata={
            **family_metadata(lake_of(settings), pattern, example, in_words(made)),
            **lineage_metadata(settings, feed, made, names),
            **code_references(settings, feed),
            **({"routed_by": dg.MetadataValue.text(feed.routed_by)} if feed.all_routes else {}),
            **({"transform": feed.transform} if feed.transform else {}),
            **({"subjects": dg.MetadataValue.text(several.label)} if several else {}),
        },
        freshness_policy=freshness_policy(settings, [feed, *flows_into(feed)]),
    )
    return [rebuilt_silver(settings, feeds, feed, spec)]


def _quarantine(settings: Settings, feed: Feed) -> dg.AssetSpec:
    return dg.AssetSpec(
        quarantine_key(settings, feed),
        deps=[bronze_key(settings, feed)],
        **of_feed(settings, feed, AssetLayer.QUARANTINE),
        description="Messages that could not be decoded or routed: raw bytes, origin and reason.",
        kinds={"delta", "spark"},
        metadata={
            **declared_metadata(lake_of(settings), quarantine_of(feed.feed)),
            **code_references(settings, feed),
        },
    )


def _check(
    settings: Settings, feed: Feed, expectation: Expectation, lake: str
) -> dg.AssetCheckSpec:
    return partitioned_check(
        expectation.name,
        silver_key(settings, feed),
        key_partitions(feed, lake),
        f"`{expectation.sql}` holds for every row. "
        + _CONSEQUENCE[expectation.action].format(share=expectation.allowed_share)
        + (_BLOCKING if expectation.blocking else ""),
    )


def _checks(settings: Settings, feed: Feed) -> dg.AssetChecksDefinition:
    silver, lake = silver_key(settings, feed), lake_id(settings)

    @dg.multi_asset_check(
        name=f"{identifier_of(silver)}_expectations",
        specs=[_check(settings, feed, expectation, lake) for expectation in feed.expectations],
        can_subset=True,
        required_resource_keys={resource_key(settings)},
        pool=silver_pool(lake),
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckEvaluation]:
        note_process(context.instance, context.run.run_id, lake)
        limit_runtime(context.instance, context.run, MAX_RUNTIME_S)
        names = {key.name for key in context.selected_asset_check_keys}
        keys, lend = keys_asked_for(context, settings, feed), lake_in(context, settings).lend
        yield from recounted(context, settings, feed, names, keys, lend)

    return check
