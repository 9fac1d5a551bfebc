"""The newest materializations of partitions, and their ids in the event log; on Dagster 1.13.27.

A check result refers to what it judges by such an id. Also plans, by which Dagster calls a
partition failed: nothing public makes one.
"""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import dagster as dg
from dagster._core.events import AssetMaterializationPlannedData, DagsterEvent


def latest_ids(
    instance: dg.DagsterInstance, asset: dg.AssetKey, partitions: Collection[str]
) -> Mapping[str, int]:
    """By partition, the id in the event log of its latest materialization, if it has one.

    One query, for those partitions alone: without them Dagster groups the asset's whole history.
    """
    if not partitions:
        return {}
    return instance.event_log_storage.get_latest_storage_id_by_partition(
        asset, dg.DagsterEventType.ASSET_MATERIALIZATION, partitions=set(partitions)
    )


def latest_id(instance: dg.DagsterInstance, asset: dg.AssetKey) -> int | None:
    """The id in the event log of the latest materialization of an asset without partitions."""
    latest = instance.fetch_materializations(asset, limit=1)
    return latest.records[0].storage_id if latest.records else None


@dataclass(frozen=True, slots=True)
class Latest:
    """The newest materialization of a partition."""

    event: dg.AssetMaterialization
    timestamp: float
    """Seconds since 1970."""


def latest_materializations(
    instance: dg.DagsterInstance, asset: dg.AssetKey, partitions: Collection[str]
) -> Mapping[str, Latest]:
    """By partition, its newest materialization, if it has one; two queries, however many."""
    ids = list(latest_ids(instance, asset, partitions).values())
    if not ids:
        return {}
    found = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=asset, storage_ids=ids), limit=len(ids)
    )
    return {
        record.partition_key: Latest(record.asset_materialization, record.timestamp)
        for record in found.records
        if record.partition_key is not None and record.asset_materialization is not None
    }


def plan_materialization(
    context: dg.AssetExecutionContext, asset: dg.AssetKey, partition: str
) -> None:
    """Store that a run means to materialize a partition; if it does not, the partition is failed.

    Args:
        context: of the step that would.
        asset: whose partition.
        partition: which; the run's tags need not name it.
    """
    run, step = context.run, context.op_execution_context.op_def.name
    planned = DagsterEvent.build_asset_materialization_planned_event(
        run.job_name, step, AssetMaterializationPlannedData(asset, partition=partition)
    )
    context.instance.report_dagster_event(planned, run.run_id, logging.DEBUG)
