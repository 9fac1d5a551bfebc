"""Records of runs as others than their own process write them; tried on Dagster 1.13.27."""

from collections.abc import Mapping, Sequence

import dagster as dg
from dagster._core.events import RunFailureReason
from dagster._core.launcher import DefaultRunLauncher
from dagster._core.launcher.sync_in_memory_run_launcher import SyncInMemoryRunLauncher
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
    AUTOMATION_CONDITION_TAG,
    MAX_RUNTIME_SECONDS_TAG,
    RUN_FAILURE_REASON_TAG,
    SCHEDULE_NAME_TAG,
    SENSOR_NAME_TAG,
)

_WITH_CHILDREN = (DefaultRunLauncher, SyncInMemoryRunLauncher)
"""Launchers that start a run as a child of the code server, or in the process that asks."""

MAX_RUNTIME = MAX_RUNTIME_SECONDS_TAG
"""Tag of a run: seconds after which run monitoring ends it."""

NO_LIMIT = {MAX_RUNTIME: "0"}
"""Tag of a run that run monitoring never calls overdue."""

STARTED_BY = frozenset({SCHEDULE_NAME_TAG, SENSOR_NAME_TAG, AUTOMATION_CONDITION_TAG})
"""Tags of runs that nobody started by hand."""


def starts_children(instance: dg.DagsterInstance) -> bool:
    """Whether runs are started as children of their code server, on its machine.

    Others (Kubernetes, Docker, a cloud's) start each on a machine, or in a container, of its own,
    and Dagster's run monitoring asks them whether it still runs.
    """
    return isinstance(instance.run_launcher, _WITH_CHILDREN)


def range_tags(partitions: Sequence[str]) -> dict[str, str]:
    """Tags of one run over all partitions of an asset from the first of these to the last."""
    return {
        ASSET_PARTITION_RANGE_START_TAG: partitions[0],
        ASSET_PARTITION_RANGE_END_TAG: partitions[-1],
    }


def tag_run(instance: dg.DagsterInstance, run_id: str, tags: Mapping[str, str]) -> None:
    """Add tags to a run's record, also while it runs."""
    instance.add_run_tags(run_id, tags)


def fail_run(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Mark a run failed whose process is not there to say so."""
    instance.report_run_failed(run, why)


def say_canceling(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Have a run that an interrupt ends count as cancelled, and not as failed."""
    instance.report_run_canceling(run, why)


def was_interrupted(run: dg.DagsterRun) -> bool:
    """Whether a failed run failed for a signal that asked it to end."""
    reason = RunFailureReason.UNEXPECTED_TERMINATION.value
    return run.tags.get(RUN_FAILURE_REASON_TAG) == reason


def cancel_run(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Mark a run cancelled that no process has begun."""
    instance.report_run_canceled(run, why)
