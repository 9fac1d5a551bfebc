"""What the streams did, as Dagster's events: materializations and check results."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import dagster as dg

from lake_assets.defs.gap_check import gap_evaluation
from lake_assets.defs.internals.asset_checks import evaluation
from lake_assets.defs.internals.materializations import latest_id, latest_ids
from lake_assets.defs.keys import (
    bronze_key,
    gold_key,
    partition_of,
    quarantine_key,
    silver_key,
)
from lake_assets.defs.metadata import ROWS, VERSION, pace_metadata, table_metadata, view_metadata
from lake_assets.defs.told_columns import TableEvent, ToldColumns
from lake_assets.delta.catalog import keys_of
from lake_assets.gold.column_lineage import ViewWords
from lake_assets.model.expectations import Expectation
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import expectations_of_tables, is_shared
from lake_assets.model.gold_views import GoldView
from lake_assets.model.reports import CheckResult, Judged
from lake_assets.model.severity import per_cent, severity_of
from lake_assets.model.tables import EVERY_KEY, Layer, TableRef, bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.noted_columns import in_words, noted_columns_of
from lake_assets.state.failing_expectations import read_failures
from lake_assets.storage.open_store import lake_of
from lake_assets.streams.batch_totals import Change

Event = dg.AssetMaterialization | dg.AssetCheckEvaluation


def events_of(
    settings: Settings,
    feed: Feed,
    changes: Sequence[Change],
    instance: dg.DagsterInstance,
    run_id: str,
    told: ToldColumns,
) -> Iterator[Event]:
    """The materializations of a feed's tables, then the checks that their new rows were judged by.

    A table that nothing was added to gets no materialization, as after a batch that an expectation
    refused. Each event must be stored before the next is asked for: a check refers to the
    materialization that came before it, and one without its checks would make Dagster call them
    unknown, so each comes with its own.
    """
    words = ViewWords(lake_of(settings), feed)
    tables = [_table_event(settings, feed, one, words) for one in changes if not one.is_finding]
    yield from told.materializations(tables)
    if any(change.table == bronze_of(feed.feed) for change in changes):
        yield gap_evaluation(settings, feed, instance, run_id)
    for checked, of_tables in _results_of_checks(settings, feed, changes).items():
        yield from results_of(instance, run_id, checked, of_tables)
    judged = {change.key: change.judged for change in changes if change.key and change.judged}
    asset = silver_key(settings, feed)
    ids = latest_ids(instance, asset, judged)
    failures = read_failures(settings.state_dir, feed.feed) if judged else {}
    for key, results in judged.items():
        target = Target(run_id=run_id, storage_id=ids.get(key))
        for expectation in expectations_of_tables(feed):
            if expectation.name in results:
                failing = failures.get((key, expectation.name))
                yield evaluation_of(
                    dg.AssetCheckKey(asset, expectation.name),
                    key,
                    expectation,
                    results[expectation.name],
                    target,
                    failing_since=failing.since if failing else None,
                )


def _results_of_checks(
    settings: Settings, feed: Feed, changes: Sequence[Change]
) -> dict[dg.AssetKey, list[CheckResult]]:
    by_asset: dict[dg.AssetKey, list[CheckResult]] = {}
    for change in changes:
        if change.results:
            by_asset.setdefault(_asset_of(settings, feed, change), []).extend(
                change.results.values()
            )
    return by_asset


def results_of(
    instance: dg.DagsterInstance,
    run_id: str,
    asset: dg.AssetKey,
    results: Sequence[CheckResult],
) -> Iterator[dg.AssetCheckEvaluation]:
    """Results of one asset, each on the latest materialization of its partition."""
    partitions = {partition for result in results if (partition := partition_of(result.key))}
    ids = latest_ids(instance, asset, partitions)
    for result in results:
        partition = partition_of(result.key)
        latest = latest_id(instance, asset) if partition is None else ids.get(partition)
        yield result_of(asset, result, Target(run_id=run_id, storage_id=latest))


def _table_event(settings: Settings, feed: Feed, change: Change, words: ViewWords) -> TableEvent:
    what = "refresh" if change.table.layer is Layer.GOLD else "batch"
    made: Mapping[str, str] = {}
    if change.table.layer is Layer.SILVER:
        made = in_words(noted_columns_of(settings, feed, change.key))
    elif change.table.layer is Layer.GOLD:
        made = words.of_table(change.table, str(change.key))
    partition = partition_of(change.key) if change.key else None
    is_partition = partition is not None
    metadata = table_metadata(lake_of(settings), change.table, made, is_partition=is_partition)
    metadata |= pace_metadata(change.pace, what)
    if change.table.layer is Layer.GOLD:
        metadata |= view_metadata(change.refresh) if change.refresh else {}
    else:
        metadata["rows_added"] = dg.MetadataValue.int(change.rows)
        if change.table.layer is Layer.SILVER and is_shared(feed):
            metadata["feed"] = dg.MetadataValue.text(feed.feed)
        if change.dropped:
            metadata["rows_dropped"] = dg.MetadataValue.int(change.dropped)
        if change.duplicates:
            metadata["duplicates_dropped"] = dg.MetadataValue.int(change.duplicates)
    return TableEvent(
        asset=_asset_of(settings, feed, change), partition=partition, metadata=metadata
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """Who reports a result, and on which materialization."""

    run_id: str
    storage_id: int | None
    """Its id in the event log; None if there is none."""


def evaluation_of(
    check: dg.AssetCheckKey,
    key: str,
    expectation: Expectation,
    judged: Judged,
    target: Target,
    *,
    failing_since: datetime | None = None,
) -> dg.AssetCheckEvaluation:
    """One key's result of one expectation."""
    metadata: dict[str, dg.MetadataValue] = {
        "rows_seen": dg.MetadataValue.int(judged.seen),
        "rows_violated": dg.MetadataValue.int(judged.violated),
        "per_cent_violated": dg.MetadataValue.float(per_cent(judged)),
    }
    if judged.examples:
        examples = ", ".join(str(origin) for origin in judged.examples)
        metadata["examples"] = dg.MetadataValue.text(examples)
    if judged.violated and failing_since:
        metadata["failing_since"] = dg.MetadataValue.timestamp(failing_since)
    return evaluation(
        check=check,
        partition=key,
        run_id=target.run_id,
        storage_id=target.storage_id,
        severity=severity_of(expectation, judged),
        metadata=metadata,
    )


def result_of(asset: dg.AssetKey, result: CheckResult, target: Target) -> dg.AssetCheckEvaluation:
    """One table's result of one dataset check."""
    metadata: dict[str, dg.MetadataValue] = {
        "limit": dg.MetadataValue.text(result.limit),
        "found": dg.MetadataValue.text(result.words),
    }
    if result.found is not None:
        metadata["value"] = dg.MetadataValue.float(result.found)
    if result.version is not None:
        metadata[VERSION] = dg.MetadataValue.int(result.version)
    return evaluation(
        check=dg.AssetCheckKey(asset, result.name),
        partition=partition_of(result.key),
        run_id=target.run_id,
        storage_id=target.storage_id,
        severity=None if result.passed else result.severity,
        metadata=metadata,
    )


def unreported(settings: Settings, feed: Feed, instance: dg.DagsterInstance) -> Iterator[Change]:
    """The tables of which Dagster knows another version than there is.

    A run that was killed, or one outside of Dagster, had no time to report its last batches. Views
    that the streams do not refresh are told of by who does; of one that is up to date, though,
    nobody would be, once Dagster has lost its storage.
    """
    lake = lake_of(settings)
    keys = keys_of(lake, feed)
    tables: list[tuple[TableRef, str | None]] = [
        (bronze_of(feed.feed), None),
        *([(quarantine_of(feed.feed), None)] if feed.has_silver else []),
        # Of tables that several feeds fill, the one tells that has them.
        *((feed.silver_table(key), key) for key in keys if feed.into is None),
        *(
            (feed.gold_table(view, scope), scope)
            for view in feed.gold
            for scope in _looked_at(settings, instance, feed, view, view.scopes(keys))
        ),
    ]
    for table, key in tables:
        change = Change(feed=feed.feed, table=table, key=key)
        now = table_metadata(lake, table)
        partition = None if key is None else partition_of(key)
        then = latest_metadata(instance, _asset_of(settings, feed, change), partition)
        has_rows = bool(now) and now[ROWS].value
        if has_rows and then.get(VERSION) != now[VERSION]:
            yield change


def _looked_at(
    settings: Settings,
    instance: dg.DagsterInstance,
    feed: Feed,
    view: GoldView,
    scopes: Sequence[str],
) -> Sequence[str]:
    if view.refresh is not None:
        return scopes
    told = told_scopes(settings, instance, feed, view, scopes)
    return [scope for scope in scopes if scope not in told]


def told_scopes(
    settings: Settings,
    instance: dg.DagsterInstance,
    feed: Feed,
    view: GoldView,
    scopes: Collection[str],
) -> set[str]:
    """Those of a view's scopes that Dagster has seen materialized."""
    key = gold_key(settings, feed, view)
    if view.is_over_all:
        return {EVERY_KEY} if latest_id(instance, key) is not None else set()
    return set(latest_ids(instance, key, scopes))


def latest_metadata(
    instance: dg.DagsterInstance, asset: dg.AssetKey, partition: str | None
) -> Mapping[str, dg.MetadataValue]:
    """Metadata of an asset's or a partition's latest materialization; empty without one."""
    partitions = None if partition is None else [partition]
    latest = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=asset, asset_partitions=partitions), limit=1
    ).records
    event = latest[0].asset_materialization if latest else None
    return event.metadata if event else {}


def _asset_of(settings: Settings, feed: Feed, change: Change) -> dg.AssetKey:
    if change.table.layer is Layer.GOLD:
        views = {feed.gold_table(view, str(change.key)): view for view in feed.gold}
        return gold_key(settings, feed, views[change.table])
    if change.table == bronze_of(feed.feed):
        return bronze_key(settings, feed)
    return (
        quarantine_key(settings, feed)
        if change.table == quarantine_of(feed.feed)
        else silver_key(settings, feed)
    )
