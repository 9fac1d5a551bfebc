"""The sensor `supervisor`: tells the core what Dagster knows, and does what it decides."""

import time
from collections.abc import Sequence
from dataclasses import replace

import dagster as dg

from lake_assets.defs.keys import games_partitions
from lake_assets.defs.processes import UNFINISHED, fail_lost_runs
from lake_assets.defs.streams import NAME
from lake_assets.lake.catalog import games_of
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.supervision.act import look, policy_of, signal_holder
from lake_assets.supervision.decide import decide
from lake_assets.supervision.facts import Action, EndedRun, Ending, Kind, Observed, Phase, RunFact
from lake_assets.supervision.memory import Memory

SENSOR = "supervisor"

_PHASES = {
    dg.DagsterRunStatus.QUEUED: Phase.WAITING,
    dg.DagsterRunStatus.NOT_STARTED: Phase.LAUNCHING,
    dg.DagsterRunStatus.STARTING: Phase.LAUNCHING,
    dg.DagsterRunStatus.STARTED: Phase.RUNNING,
    dg.DagsterRunStatus.CANCELING: Phase.CANCELING,
}

_FINISHED = [
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
]

_DEAD = {dg.DagsterRunStatus.FAILURE}


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The sensor."""

    @dg.sensor(
        name=SENSOR,
        job_name=NAME,
        # The daemon looks at sensors every 5 s at best.
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Keeps one run of the job `streams` alive: starts it, restarts it when it died or "
            "stalls, and never starts a second. Turn it off to be able to stop streaming."
        ),
    )
    def supervisor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        instance = context.instance
        now, policy = time.time(), policy_of(settings)
        lost = fail_lost_runs(instance, now=now, launch_within_s=policy.launch_within_s)
        observed = observe(settings, instance, now=now)
        action, memory = decide(observed, Memory.from_json(context.cursor), policy)
        act(action, observed, instance)
        is_start = action.kind is Kind.START
        if action.kind is not Kind.NOTHING:
            context.log.info("%s: %s", action.kind, action)
        return dg.SensorResult(
            # No run key: with one, Dagster would start the streams once and never again.
            run_requests=[dg.RunRequest()] if is_start else [],
            skip_reason=None if is_start else f"{action}{_mention(lost)}",
            cursor=memory.to_json(),
            dynamic_partitions_requests=_new_games(settings, feeds, instance),
        )

    return dg.Definitions(sensors=[supervisor])


def observe(settings: Settings, instance: dg.DagsterInstance, *, now: float) -> Observed:
    """Everything the core decides from."""
    seen = look(settings, now=now)
    unfinished = instance.get_run_records(dg.RunsFilter(job_name=NAME, statuses=UNFINISHED))
    ended = instance.get_run_records(dg.RunsFilter(job_name=NAME, statuses=_FINISHED), limit=1)
    owner = seen.beat.owner if seen.beat else ""
    return replace(
        seen,
        is_beater_ours=bool(owner) and instance.has_run(owner),
        runs=tuple(_fact(record) for record in unfinished),
        last_ended=_ended(ended[0]) if ended else None,
    )


def _fact(record: dg.RunRecord) -> RunFact:
    run = record.dagster_run
    since = record.start_time or record.update_timestamp.timestamp()
    return RunFact(run_id=run.run_id, phase=_PHASES[run.status], since=since)


def _ended(record: dg.RunRecord) -> EndedRun:
    run = record.dagster_run
    ended_at = record.end_time or record.update_timestamp.timestamp()
    return EndedRun(
        run_id=run.run_id,
        ending=Ending.DIED if run.status in _DEAD else Ending.STOPPED,
        lived_s=ended_at - (record.start_time or ended_at),
        ended_at=ended_at,
    )


def act(action: Action, observed: Observed, instance: dg.DagsterInstance) -> None:
    """Do what was decided; starting is the sensor's to request."""
    if action.kind in {Kind.ASK_TO_END, Kind.KILL} and observed.beat:
        signal_holder(action, observed.beat)
    run = instance.get_run_by_id(action.run_id) if action.run_id else None
    if run and action.kind is Kind.FAIL_RUN:
        instance.report_run_failed(run, str(action))
    elif run and action.kind is Kind.CANCEL_RUN:
        instance.report_run_canceled(run, str(action))


def _mention(lost: Sequence[str]) -> str:
    return f"; marked failed: {', '.join(lost)}" if lost else ""


def _new_games(
    settings: Settings, feeds: Sequence[Feed], instance: dg.DagsterInstance
) -> list[dg.AddDynamicPartitionsRequest]:
    requests = []
    for feed in feeds:
        partitions = games_partitions(feed)
        known = set(instance.get_dynamic_partitions(str(partitions.name)))
        new = [game for game in games_of(settings.lake_dir, feed) if game not in known]
        if new:
            requests.append(partitions.build_add_request(new))
    return requests
