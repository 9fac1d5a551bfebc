"""Ids in the event log, by which a check result refers to what it judges; on Dagster 1.13.27."""

from collections.abc import Collection, Mapping

import dagster as dg


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
