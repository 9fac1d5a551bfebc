"""Partitions as Dagster's page of an asset shows them."""

import asyncio

import dagster as dg
from dagster._core.loader import LoadingContextForTest
from dagster._core.storage.partition_status_cache import get_partition_subsets


def failed_partitions(instance: dg.DagsterInstance, asset: dg.AssetKey, name: str) -> set[str]:
    """The partitions of an asset that are shown as failed; `name` is that of the set of all."""
    return _partitions(instance, asset, name)[1]


def materialized_partitions(
    instance: dg.DagsterInstance, asset: dg.AssetKey, name: str
) -> set[str]:
    """Those that are shown as materialized."""
    return _partitions(instance, asset, name)[0]


def _partitions(instance: dg.DagsterInstance, asset: dg.AssetKey, name: str) -> list[set[str]]:
    found = asyncio.run(
        get_partition_subsets(
            instance,
            LoadingContextForTest(instance),
            asset,
            instance,
            dg.DynamicPartitionsDefinition(name=name),
        )
    )
    return [set(subset.get_partition_keys()) if subset else set() for subset in found]
