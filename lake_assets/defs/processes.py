"""Which process works on a run, kept as the run's tag, so that a dead run is told from a slow one.

Dagster's default launcher notices a dead process only while the process's parent lives.
"""

import time
from collections.abc import Callable, Sequence

import dagster as dg

from lake_assets.defs.internals.instigators import let_sensors_tick
from lake_assets.defs.internals.runs import (
    fail_run,
    say_canceling,
    starts_children,
    tag_run,
    was_interrupted,
)
from lake_assets.defs.lake_scope import PHASES, lake_tags
from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import boot_id, is_alive, own_process
from lake_assets.supervision.decide import is_lost

PROCESS = "lake_assets/process"

FAULT = "lake_assets/fault"
"""Tag of a run that is asked to end for something that is wrong with it: what."""

REPLACED = "lake_assets/replaced"
"""Tag of a run that is asked to end since its code is older."""

SIGNAL = "lake_assets/signal"
"""Tag of a run that a signal ended, whoever sent it."""

_FENCE_EVERY_S = 10.0
"""Seconds between two looks whether the run still has its record. The supervisor may start another
run 20 s after a record ended; the lock holds it off, and this frees the lock."""


def note_process(instance: dg.DagsterInstance, run_id: str, lake: str) -> None:
    """Say that this process works on the run, and on which lake.

    A run that was started by hand or by a backfill has none of its job's tags.
    """
    tag_run(instance, run_id, {PROCESS: str(own_process()), **lake_tags(lake)})


def fail_lost_runs(
    instance: dg.DagsterInstance,
    runs: Sequence[dg.DagsterRun],
    is_overdue: Callable[[str], bool],
    repository: str | None = None,
) -> list[str]:
    """Mark the runs failed whose process is gone: they would hold up later ones for ever.

    Where a run's process is a child of its code server, and that is the one whose sensor asks, one
    of another boot, or of a container that is no more, is gone too. No other process is judged that
    is not of this machine: Dagster's run monitoring asks its launcher.

    Args:
        instance: has their records.
        runs: unfinished runs of one lake; others are not ours to judge.
        is_overdue: whether a run of this id that is being launched has had its time for that; it
            has not said its process yet.
        repository: as `internals.instigators.repository_of`, of whoever asks.
    """
    here = [run for run in runs if not is_elsewhere(instance, run, repository)]
    lost = [run for run in here if _is_lost(run, is_overdue)]
    for run in lost:
        fail_run(instance, run, "Its process is gone; nothing of it is still running")
    return [run.run_id for run in lost]


def process_of_run(run: dg.DagsterRun) -> ProcessId | None:
    """The process that has said that it works on a run; None if none has."""
    return ProcessId.parse(run.tags.get(PROCESS, ""))


def is_elsewhere(
    instance: dg.DagsterInstance, run: dg.DagsterRun, repository: str | None = None
) -> bool:
    """Whether nothing here tells if a run's process lives: it is where no pid of here counts.

    Args:
        instance: knows who starts runs.
        run: unfinished.
        repository: as `internals.instigators.repository_of`, of whoever asks.
    """
    process = process_of_run(run)
    if process is not None and process.boot == boot_id():
        return False
    origin = run.remote_job_origin
    is_ours = (
        repository is None
        or origin is None
        or origin.repository_origin.get_selector_id() == repository
    )
    return not is_ours or not starts_children(instance)


def _is_lost(run: dg.DagsterRun, is_overdue: Callable[[str], bool]) -> bool:
    process = process_of_run(run)
    return is_lost(
        PHASES[run.status],
        is_process_alive=None if process is None else is_alive(process),
        is_overdue=is_overdue(run.run_id),
    )


def note_interrupt(instance: dg.DagsterInstance, run_id: str) -> None:
    """Have a run that was asked to end by a signal count as cancelled, unless for a fault.

    Service managers and containers end a code server so, with the runs that it has started.
    """
    run = instance.get_run_by_id(run_id)
    if run and run.status is dg.DagsterRunStatus.STARTED and FAULT not in run.tags:
        tag_run(instance, run_id, {SIGNAL: "true"})
        say_canceling(instance, run, "A signal asks it to end; the streams finish what they are at")


def is_ended_by_others(run: dg.DagsterRun) -> bool:
    """Whether a signal ended a run that did not come from us: perhaps its code server ends, too."""
    is_signalled = SIGNAL in run.tags or was_interrupted(run)
    return is_signalled and not {FAULT, REPLACED} & run.tags.keys()


def has_died(run: dg.DagsterRun) -> bool:
    """Whether a run that is over died, and was not just asked to end.

    An interrupt while Dagster stores something is noted by Dagster alone, as a failure.
    """
    if run.status is not dg.DagsterRunStatus.FAILURE:
        return False
    if REPLACED in run.tags and FAULT not in run.tags:
        return False
    return FAULT in run.tags or not was_interrupted(run)


class Fence:
    """Ends the op once its run is over on record, so that no second writer ever runs beside it.

    It also sees to it that the sensors go on watching over the run after the clock was set back.
    """

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
        let_sensors_tick(self._instance, run, now=time.time())
