"""Which process works on a run, kept as the run's tag, so that a dead run is told from a slow one.

Dagster's default launcher notices a dead process only while the process's parent lives.
"""

import time

import dagster as dg

from lake_assets.supervision.act import is_process_alive, own_process

PROCESS = "lake_assets/process"

_LAUNCHING = [dg.DagsterRunStatus.NOT_STARTED, dg.DagsterRunStatus.STARTING]
_RUNNING = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]

UNFINISHED = [dg.DagsterRunStatus.QUEUED, *_LAUNCHING, *_RUNNING]

_FENCE_EVERY_S = 10.0
"""Seconds between two looks whether the run still has its record. The supervisor may start another
run 20 s after a record ended; the lock holds it off, and this frees the lock."""


def note_process(instance: dg.DagsterInstance, run_id: str) -> None:
    """Say that this process works on the run."""
    instance.add_run_tags(run_id, {PROCESS: own_process()})


def fail_lost_runs(
    instance: dg.DagsterInstance, *, now: float, launch_within_s: float
) -> list[str]:
    """Mark the runs failed whose process is gone: they would hold up later ones for ever.

    A run that is being launched has not said its process yet, so it gets some time for that.
    """
    records = instance.get_run_records(dg.RunsFilter(statuses=[*_LAUNCHING, *_RUNNING]))
    lost = [record.dagster_run for record in records if _is_lost(record, now - launch_within_s)]
    for run in lost:
        instance.report_run_failed(run, "Its process is gone; nothing of it is still running")
    return [run.run_id for run in lost]


def _is_lost(record: dg.RunRecord, launched_before: float) -> bool:
    run = record.dagster_run
    if run.status in _LAUNCHING:
        return record.update_timestamp.timestamp() < launched_before
    return PROCESS in run.tags and not is_process_alive(run.tags[PROCESS])


class Fence:
    """Ends the op once its run is over on record, so that no second writer ever runs beside it."""

    def __init__(self, instance: dg.DagsterInstance, run_id: str) -> None:
        """Guard this run; the first look is at once."""
        self._instance = instance
        self._run_id = run_id
        self._next_at = 0.0

    def check(self) -> None:
        """Look every so often.

        Raises:
            Failure: the run is not STARTED any more, or unknown.
        """
        if time.monotonic() < self._next_at:
            return
        self._next_at = time.monotonic() + _FENCE_EVERY_S
        run = self._instance.get_run_by_id(self._run_id)
        if run is None or run.status is not dg.DagsterRunStatus.STARTED:
            status = run.status.value if run else "unknown"
            raise dg.Failure(f"The record of this run says {status}, so its streams stop")
