"""All that leans on Dagster's internals or its previews, each held by a test.

Partitioned asset checks are a preview, and their evaluations find the materialization that they
judge only by its id in the event log. Nothing public tells what a check says of a partition, what a
user turned off, when a cron expression last ticked, or lets a sensor go on after the clock was set.
"""

import time
import warnings
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime

import dagster as dg
from dagster._core.definitions.asset_checks.asset_check_evaluation import (
    AssetCheckEvaluationTargetMaterializationData,
)
from dagster._core.definitions.selector import RepositorySelector
from dagster._core.event_api import PartitionKeyFilter
from dagster._core.remote_origin import RemoteInstigatorOrigin
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    InstigatorType,
    SensorInstigatorData,
)
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


def repository_of(context: dg.SensorEvaluationContext) -> str | None:
    """Names the code location and repository of a sensor; None in a context that has none."""
    origin, name = context.code_location_origin, context.repository_name
    if origin is None or name is None:
        return None
    found = RepositorySelector(location_name=origin.location_name, repository_name=name)
    return str(found.selector_id)


def turned_off(instance: dg.DagsterInstance, repository: str | None) -> frozenset[str]:
    """Names of the sensors and schedules that a user has turned off.

    Args:
        instance: knows of the sensors and schedules of all code locations.
        repository: as `repository_of`; None for all.
    """
    states = instance.all_instigator_state(
        repository_selector_id=repository, instigator_statuses={InstigatorStatus.STOPPED}
    )
    return frozenset(state.instigator_name for state in states)


def keep_off(
    instance: dg.DagsterInstance, repository: str | None, renamed: Mapping[str, str]
) -> None:
    """Leave those schedules off that a user turned off under a former name.

    The former name is forgotten, so a user who turns one on again has the last word.

    Args:
        instance: knows of the schedules of all code locations.
        repository: as `repository_of`; None for all.
        renamed: the name of today by the former one.
    """
    states = instance.all_instigator_state(
        repository_selector_id=repository, instigator_type=InstigatorType.SCHEDULE
    )
    known = {(state.repository_selector_id, state.instigator_name) for state in states}
    for state in states:
        name = renamed.get(state.instigator_name)
        if name is None or state.status is not InstigatorStatus.STOPPED:
            continue
        origin = RemoteInstigatorOrigin(state.origin.repository_origin, name)
        new = InstigatorState(origin, InstigatorType.SCHEDULE, state.status, state.instigator_data)
        # The daemon notes a schedule when it first sees it, usually before this.
        is_known = (state.repository_selector_id, name) in known
        put = instance.update_instigator_state if is_known else instance.add_instigator_state
        put(new)
        instance.delete_instigator_state(state.instigator_origin_id, state.selector_id)


def let_sensors_tick(
    instance: dg.DagsterInstance, run: dg.DagsterRun, *, now: float
) -> tuple[str, ...]:
    """Have those sensors of a run's code location ask again whose last tick lies in the future.

    Dagster's daemon waits until a sensor's interval has passed since its last tick by the clock of
    the wall: one that is set back by a day would keep every sensor still for a day.

    Args:
        instance: knows of the sensors of all code locations.
        run: whose code location; one that was started by no daemon has none.
        now: the time, in seconds since 1970.

    Returns:
        Their names.
    """
    origin = run.remote_job_origin
    if origin is None or instance.schedule_storage is None:  # an instance in memory has no daemon
        return ()
    states = instance.all_instigator_state(
        repository_selector_id=origin.repository_origin.get_selector_id(),
        instigator_type=InstigatorType.SENSOR,
    )
    found = []
    for state in states:
        data = state.instigator_data
        if isinstance(data, SensorInstigatorData) and _ticked_at(data) > now + _AHEAD_S:
            repaired = data._replace(last_tick_timestamp=now, last_tick_start_timestamp=now)
            instance.update_instigator_state(state.with_data(repaired))
            found.append(state.instigator_name)
    return tuple(found)


_AHEAD_S = 5.0
"""Seconds that a tick may lie in the future: less than that passes by itself, and a tick that began
a moment ago must not be taken for one."""


def _ticked_at(data: SensorInstigatorData) -> float:
    return max(data.last_tick_timestamp or 0.0, data.last_tick_start_timestamp or 0.0)


def last_tick(cron: str, before: float) -> float:
    """When a schedule last ticked, up to `before`; seconds since 1970, as Dagster reads crons."""
    at = datetime.fromtimestamp(before, UTC)
    return get_latest_completed_cron_tick(cron, at, None).timestamp()
