"""Records of runs as others than their own process write them; tried on Dagster 1.13.27."""

from collections.abc import Mapping, Sequence

import dagster as dg

RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"

NO_LIMIT = {"dagster/max_runtime": "0"}
"""Tag of a run that run monitoring never calls overdue."""


def range_tags(partitions: Sequence[str]) -> dict[str, str]:
    """Run tags that ask for one run over all these partitions of an asset."""
    return {RANGE_START: partitions[0], RANGE_END: partitions[-1]}


def tag_run(instance: dg.DagsterInstance, run_id: str, tags: Mapping[str, str]) -> None:
    """Add tags to a run's record, also while it runs."""
    instance.add_run_tags(run_id, tags)


def fail_run(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Mark a run failed whose process is not there to say so."""
    instance.report_run_failed(run, why)


def cancel_run(instance: dg.DagsterInstance, run: dg.DagsterRun, why: str) -> None:
    """Mark a run cancelled that no process has begun."""
    instance.report_run_canceled(run, why)
