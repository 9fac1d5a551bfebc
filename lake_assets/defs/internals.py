"""All that leans on Dagster's internals or its previews, each held by a test.

Partitioned asset checks are a preview, and their evaluations find the materialization that they
judge only by its id in the event log. Nothing public tells what a check says of a partition, what a
user turned off, or when a cron expression last ticked.
"""

import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.scheduler.instigation import InstigatorStatus
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus
from dagster._utils.schedules import get_latest_completed_cron_tick

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
    name: str, asset: dg.AssetKey, partitions: dg.PartitionsDefinition | None, description: str
) -> dg.AssetCheckSpec:
    """A check with a result a partition, if there are any.

    The one warning that says it is a preview is not ours.
    """
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


def latest_id(instance: dg.DagsterInstance, asset: dg.AssetKey) -> int | None:
    """The id in the event log of the latest materialization of an asset without partitions."""
    found = instance.fetch_materializations(asset, limit=1)
    return found.records[0].storage_id if found.records else None


def evaluation(
    *,
    check: dg.AssetCheckKey,
    partition: str | None,
    run_id: str,
    storage_id: int | None,
    severity: Severity | None,
    metadata: Mapping[str, dg.MetadataValue],
) -> dg.AssetCheckEvaluation:
    """The check result of a partition, or of an asset that has none.

    Without `storage_id` the next materialization clears it. `severity` is None if it passed.
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


_PASSED = {
    AssetCheckExecutionRecordStatus.SUCCEEDED: True,
    AssetCheckExecutionRecordStatus.FAILED: False,
}


def check_results(
    instance: dg.DagsterInstance, checks: Sequence[dg.AssetCheckKey]
) -> Mapping[tuple[dg.AssetCheckKey, str | None], bool | None]:
    """By check and partition, whether it passed; None where a result is on its way or outdated.

    Results of partitioned checks that name no partition (of plans that came to nothing) are among
    them, as None.
    """
    found = instance.event_log_storage.get_asset_check_partition_info(list(checks))
    return {
        (info.check_key, info.partition_key): (
            _PASSED.get(info.latest_execution_status) if info.is_current else None
        )
        for info in found
    }


def last_evaluation(
    instance: dg.DagsterInstance, check: dg.AssetCheckKey, partition: str | None
) -> tuple[dg.AssetCheckEvaluation, float] | None:
    """The newest finished evaluation of a check for a partition, and when it was."""
    records = instance.event_log_storage.get_asset_check_execution_history(
        check, limit=1, status=set(_PASSED), partition_filter=PartitionKeyFilter(key=partition)
    )
    record = records[0] if records else None
    evaluation = record.evaluation if record else None
    if record is None or record.event is None or evaluation is None:
        return None
    return evaluation, record.event.timestamp


def turned_off(instance: dg.DagsterInstance) -> frozenset[str]:
    """Names of the sensors and schedules that a user has turned off."""
    states = instance.all_instigator_state(instigator_statuses={InstigatorStatus.STOPPED})
    return frozenset(state.instigator_name for state in states)


def last_tick(cron: str, before: float) -> float:
    """When a schedule last ticked, up to `before`; seconds since 1970, as Dagster reads crons."""
    at = datetime.fromtimestamp(before, UTC)
    return get_latest_completed_cron_tick(cron, at, None).timestamp()
