"""The job `purge_dagster`: deletes what Dagster has stored of this lake's old runs.

Dagster keeps runs and their events for ever. What its pages show as newest is kept here, too,
however old: see `internals.purge`. Old is told by the clock of the wall, as Dagster's records are.
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from lake_assets.defs.internals.runs import tag_run
from lake_assets.defs.keys import named
from lake_assets.defs.lake_scope import lake_tags, runs_of
from lake_assets.defs.lazy_imports import can_purge, purge_run
from lake_assets.defs.processes import note_process
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id

NAME = "purge_dagster"

PURGED = "lake_assets/purged"
"""Tag of a run that had to stay, with the time. To tag a run makes it new: it is looked at again
after as many days, and by then something newer may be shown."""

_FINISHED = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)

_RUNS_AT_ONCE = 100
"""Records read at once; a lake with views each minute makes 1,440 a day."""

_AT_MOST_S = 1800.0
"""Seconds after which a run deletes no more; the next one does. A day of 100 games takes one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Purged:
    """What was deleted."""

    runs: int = 0
    """Records of runs."""

    kept: int = 0
    """Runs of which something is shown as newest, and stays."""

    events: int = 0


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:  # noqa: ARG001 - as others
    """The job and its schedule."""
    lake = lake_id(settings)
    return dg.Definitions(jobs=[_job(settings, lake)], schedules=[_schedule(settings, lake)])


def purge(
    instance: dg.DagsterInstance, lake: str, *, before: datetime, goes_on: Callable[[], bool]
) -> Purged:
    """Delete the lake's finished runs of which nothing has changed since.

    The newest finished run of each job stays, since the supervisor and the alerts go by it.

    Args:
        instance: one that `can_purge`.
        lake: the id that their runs are tagged with.
        before: the time, with its zone.
        goes_on: asked every so often; what is left when it says no is for the next call.
    """
    runs = kept = events = 0
    newest: dict[str, str] = {}
    stays: set[str] = set()
    while some := _old_runs(instance, lake, before, stays):
        for run in some:
            if not goes_on():
                return Purged(runs=runs, kept=kept, events=events)
            if run.job_name not in newest:
                newest[run.job_name] = _newest_finished(instance, lake, run.job_name)
            if run.run_id == newest[run.job_name]:
                stays.add(run.run_id)
                continue
            deleted = purge_run(instance, run.run_id, goes_on)
            events += deleted.events
            if deleted.is_whole:
                runs += 1
                continue
            stays.add(run.run_id)
            if deleted.is_done:
                kept += 1
                now = datetime.now(UTC).isoformat(timespec="seconds")
                tag_run(instance, run.run_id, {PURGED: now})
    return Purged(runs=runs, kept=kept, events=events)


def _old_runs(
    instance: dg.DagsterInstance, lake: str, before: datetime, but: Collection[str] = ()
) -> Sequence[dg.DagsterRun]:
    """Some of the oldest, without those that were looked at already."""
    filters = dg.RunsFilter(tags=lake_tags(lake), statuses=list(_FINISHED), updated_before=before)
    limit = _RUNS_AT_ONCE + len(but)
    records = instance.get_run_records(filters, limit=limit, ascending=True)
    return [r.dagster_run for r in records if r.dagster_run.run_id not in but]


def _newest_finished(instance: dg.DagsterInstance, lake: str, job_name: str) -> str:
    records = instance.get_run_records(runs_of(lake, _FINISHED, job_name=job_name), limit=1)
    return records[0].dagster_run.run_id if records else ""


def _before(settings: Settings) -> datetime:
    return datetime.now(UTC) - timedelta(days=settings.dagster.keep_runs_days)


def _job(settings: Settings, lake: str) -> dg.JobDefinition:
    @dg.op(
        name=named(settings, "delete_old_runs"),
        description="Deletes old runs of this lake and their events, oldest first.",
    )
    def delete_old_runs(context: dg.OpExecutionContext) -> None:
        note_process(context.instance, context.run.run_id, lake)
        until = time.monotonic() + _AT_MOST_S
        found = purge(
            context.instance,
            lake,
            before=_before(settings),
            goes_on=lambda: time.monotonic() < until,
        )
        context.log.info(
            "Deleted %d runs and %d events; %d runs have something that is still the newest",
            found.runs,
            found.events,
            found.kept,
        )

    @dg.job(
        name=named(settings, NAME),
        description=(
            "Deletes runs of this lake that are older than `dagster.keep_runs_days`, with their "
            "events and logs. The newest event of each table and result of each check stay."
        ),
        tags={**lake_tags(lake), "dagster/max_runtime": "7200"},
        executor_def=dg.in_process_executor,
    )
    def purge_dagster() -> None:
        delete_old_runs()

    return purge_dagster


def _schedule(settings: Settings, lake: str) -> dg.ScheduleDefinition:
    @dg.schedule(
        name=named(settings, f"{NAME}_schedule"),
        cron_schedule=settings.dagster.purge_schedule,
        job_name=named(settings, NAME),
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Deletes old runs, if there are any.",
    )
    def purge_old_runs(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        if not can_purge(context.instance):
            return dg.SkipReason("This instance's storage is not one of Dagster's own")
        if not _old_runs(context.instance, lake, _before(settings)):
            days = settings.dagster.keep_runs_days
            return dg.SkipReason(f"No run of this lake is older than {days:g} days")
        return dg.RunRequest()

    return purge_old_runs
