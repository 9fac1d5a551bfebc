"""Partitioned asset checks, which are a preview, and what the event log has of them.

Their evaluations find the materialization that they judge only by its id in the event log. Nothing
public tells which checks there are, or what one says of a partition. Tried on Dagster 1.13.27.
"""

import time
import warnings
from collections.abc import Mapping, Sequence

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from lake_assets.model.checks import Severity

_SEVERITIES = {
    Severity.WARN: dg.AssetCheckSeverity.WARN,
    Severity.ERROR: dg.AssetCheckSeverity.ERROR,
}

_PASSED = {
    AssetCheckExecutionRecordStatus.SUCCEEDED: True,
    AssetCheckExecutionRecordStatus.FAILED: False,
}


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


def declared_checks(context: dg.SensorEvaluationContext) -> Sequence[dg.AssetCheckKey]:
    """All checks of a sensor's code location, sorted; none in a context that has no location."""
    repository = context.repository_def
    return sorted(repository.asset_graph.asset_check_keys) if repository else []


def check_results(
    instance: dg.DagsterInstance, checks: Sequence[dg.AssetCheckKey]
) -> Mapping[tuple[dg.AssetCheckKey, str | None], bool | None]:
    """By check and partition, whether it passed; None where a result is on its way or outdated.

    Results of partitioned checks that name no partition (of plans that came to nothing) are among
    them, as None.
    """
    infos = instance.event_log_storage.get_asset_check_partition_info(list(checks))
    return {
        (info.check_key, info.partition_key): (
            _PASSED.get(info.latest_execution_status) if info.is_current else None
        )
        for info in infos
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
