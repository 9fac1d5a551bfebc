"""All that leans on Dagster's internals or its previews, each held by a test.

Partitioned asset checks are a preview, and their evaluations find the materialization that they
judge only by its id in the event log.
"""

import time
import warnings
from collections.abc import Mapping, Sequence

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)

from lake_assets.model.checks import Severity

_SEVERITIES = {
    Severity.WARN: dg.AssetCheckSeverity.WARN,
    Severity.ERROR: dg.AssetCheckSeverity.ERROR,
}

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"

NO_LIMIT = {"dagster/max_runtime": "0"}
"""Tag of a run that run monitoring never calls overdue."""


def partitioned_check(
    name: str, asset: dg.AssetKey, partitions: dg.PartitionsDefinition, description: str
) -> dg.AssetCheckSpec:
    """A check with a result a partition; the one warning that says it is a preview is not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)
        return dg.AssetCheckSpec(
            name, asset=asset, partitions_def=partitions, description=description
        )


def latest_ids(instance: dg.DagsterInstance, asset: dg.AssetKey) -> Mapping[str, int]:
    """By partition, the id in the event log of its latest materialization."""
    return instance.event_log_storage.get_latest_storage_id_by_partition(
        asset, dg.DagsterEventType.ASSET_MATERIALIZATION
    )


def evaluation(
    *,
    check: dg.AssetCheckKey,
    partition: str,
    run_id: str,
    storage_id: int | None,
    severity: Severity | None,
    metadata: Mapping[str, dg.MetadataValue],
) -> dg.AssetCheckEvaluation:
    """One partition's check result; without `storage_id` the next materialization clears it.

    `severity` is None if it passed.
    """
    target = (
        None
        if storage_id is None
        else AssetCheckEvaluationTargetMaterializationData(
            storage_id=storage_id, run_id=run_id, timestamp=time.time()
        )
    )
    return dg.AssetCheckEvaluation(
        asset_key=check.asset_key,
        check_name=check.name,
        partition=partition,
        passed=severity is None,
        severity=_SEVERITIES[severity or Severity.WARN],
        metadata=metadata,
        target_materialization_data=target,
    )


def all_of(partitions: Sequence[str]) -> dict[str, str]:
    """Run tags that ask for one run over all these partitions of an asset."""
    return {RANGE_START: partitions[0], RANGE_END: partitions[-1]}


def latest_metadata(
    instance: dg.DagsterInstance, asset: dg.AssetKey, partition: str | None
) -> Mapping[str, dg.MetadataValue]:
    """Metadata of an asset's or a partition's latest materialization; empty without one."""
    partitions = None if partition is None else [partition]
    found = instance.fetch_materializations(
        dg.AssetRecordsFilter(asset_key=asset, asset_partitions=partitions), limit=1
    )
    latest = found.records[0].asset_materialization if found.records else None
    return latest.metadata if latest else {}
