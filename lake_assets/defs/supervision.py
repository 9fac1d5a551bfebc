"""The sensor `supervisor`: tells the core what Dagster knows, and does what it decides."""

import time
from collections.abc import Sequence
from dataclasses import replace

import dagster as dg

from lake_assets.defs.code_version import NOBODY, Asker, code_version
from lake_assets.defs.internals.instigators import repository_of
from lake_assets.defs.internals.runs import cancel_run, fail_run, say_canceling, tag_run
from lake_assets.defs.keys import named
from lake_assets.defs.lake_scope import PHASES, UNFINISHED, known_keys, runs_in, runs_of
from lake_assets.defs.processes import (
    FAULT,
    REPLACED,
    fail_lost_runs,
    has_died,
    is_elsewhere,
    is_ended_by_others,
    process_of_run,
)
from lake_assets.defs.rotation import SUPERVISOR
from lake_assets.defs.streams import NAME
from lake_assets.model.feeds import Feed, supervised
from lake_assets.runtime.processes import boot_id
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.state.stream_stops import StreamStop, in_words, stops_of
from lake_assets.supervision.decide import decide
from lake_assets.supervision.facts import Action, EndedRun, Ending, Kind, Observed, RunFact, Why
from lake_assets.supervision.machine import look, policy_of, signal_holder
from lake_assets.supervision.sensor_cursor import Memory

_FINISHED = (
    dg.DagsterRunStatus.SUCCESS,
    dg.DagsterRunStatus.FAILURE,
    dg.DagsterRunStatus.CANCELED,
)

_CLOCKS_DIFFER_S = 60.0
"""Seconds that machines' clocks may differ by; what is further ahead is of one that was set."""


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """The sensor."""
    lake = lake_id(settings)
    code, loaded_at = code_version(settings, feeds), time.time()

    @dg.sensor(
        name=named(settings, SUPERVISOR),
        job_name=named(settings, NAME),
        # The daemon looks at sensors every 5 s at best.
        minimum_interval_seconds=5,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=(
            "Keeps one run of the job `streams` alive: starts it, restarts it when it died or "
            "stalls or has older code than this, and never starts a second. Streams that the job "
            "`stop_stream` has stopped stay so. "
            "Feeds with a schedule of their own (`run`) are not its business."
        ),
    )
    def supervisor(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        instance, repository = context.instance, repository_of(context)
        now, policy = time.monotonic(), policy_of(settings)
        unfinished = runs_in(instance, runs_of(lake, UNFINISHED))
        memory = Memory.from_json(context.cursor, boot=boot_id())
        memory = memory.see([_fact(run) for run in unfinished], now)
        lost = fail_lost_runs(
            instance,
            unfinished,
            lambda run_id: memory.age_s(run_id, now) > policy.launch_within_s,
            repository,
        )
        observed = observe(
            settings,
            instance,
            lake,
            now=now,
            utc_now=time.time(),
            asker=Asker(code=code, repository=repository, loaded_at=loaded_at),
        )
        wanted = [feed.feed for feed in supervised(feeds)]
        stops = stops_of(settings.state_dir, wanted)
        observed = replace(
            observed,
            is_wanted=bool(wanted),
            stops=in_words(stops) if len(stops) == len(wanted) else "",
            loaded_ago_s=time.time() - loaded_at,
        )
        action, memory = decide(observed, memory, policy)
        act(action, observed, instance)
        for feed in feeds:
            known_keys(instance, settings, feed, lake)
        is_start = action.kind is Kind.START
        if action.kind is not Kind.NOTHING:
            context.log.info("%s: %s", action.kind, action)
        return dg.SensorResult(
            # No run key: with one, Dagster would start the streams once and never again.
            run_requests=[dg.RunRequest()] if is_start else [],
            skip_reason=None
            if is_start
            else f"{action}{_mention(lost)}{_mention_stops(stops, action)}",
            cursor=memory.to_json(),
        )

    return dg.Definitions(sensors=[supervisor])


def observe(
    settings: Settings,
    instance: dg.DagsterInstance,
    lake: str,
    *,
    now: float,
    utc_now: float,
    asker: Asker = NOBODY,
) -> Observed:
    """Everything the core decides from.

    Args:
        settings: whose streams.
        instance: has the records of their runs.
        lake: the id that their runs are tagged with.
        now: the time by the monotonic clock.
        utc_now: the time in seconds since 1970, as Dagster's records have it.
        asker: whose code that of runs is compared with.
    """
    seen = look(settings, now=now)
    job = named(settings, NAME)
    records = instance.get_run_records(runs_of(lake, UNFINISHED, job_name=job))
    ended = instance.get_run_records(runs_of(lake, _FINISHED, job_name=job), limit=1)
    beat = seen.beat or seen.far_beat
    owner = beat.owner if beat else None
    beater = instance.get_run_record_by_id(owner) if owner else None
    return replace(
        seen,
        is_beater_ours=beater is not None,
        is_run_of_feed=beater is not None and beater.dagster_run.job_name != job,
        is_outdated=beater is not None and asker.is_newer_than(beater),
        runs=tuple(
            _fact(
                record.dagster_run,
                is_far=is_elsewhere(instance, record.dagster_run, asker.repository),
                is_old=asker.is_newer_than(record),
            )
            for record in records
        ),
        last_ended=_ended(ended[0], utc_now) if ended else None,
    )


def _fact(run: dg.DagsterRun, *, is_far: bool = False, is_old: bool = False) -> RunFact:
    process = process_of_run(run)
    return RunFact(
        run_id=run.run_id,
        phase=PHASES[run.status],
        boot=process.boot if process else "",
        is_elsewhere=is_far,
        is_outdated=is_old,
    )


def _ended(record: dg.RunRecord, utc_now: float) -> EndedRun:
    run = record.dagster_run
    ended_at = record.end_time or record.update_timestamp.timestamp()
    return EndedRun(
        run_id=run.run_id,
        ending=Ending.DIED if has_died(run) else Ending.STOPPED,
        is_by_others=is_ended_by_others(run),
        is_ahead=ended_at > utc_now + _CLOCKS_DIFFER_S,
        lived_s=max(0.0, ended_at - (record.start_time or ended_at)),
        ended_ago_s=max(0.0, utc_now - ended_at),
        ended_at=ended_at,
    )


def act(action: Action, observed: Observed, instance: dg.DagsterInstance) -> None:
    """Do what was decided; starting is the sensor's to request."""
    if action.kind in {Kind.ASK_TO_END, Kind.KILL} and observed.beat:
        if instance.get_run_by_id(observed.beat.owner):
            tag_run(instance, observed.beat.owner, {_tag_of(action): str(action.why)})
        signal_holder(action, observed.beat)
    run = instance.get_run_by_id(action.run_id) if action.run_id else None
    if run and action.kind is Kind.FAIL_RUN:
        fail_run(instance, run, str(action))
    elif run and action.kind is Kind.CANCEL_RUN:
        cancel_run(instance, run, str(action))
    elif run and action.kind is Kind.END_BY_RECORD:
        tag_run(instance, run.run_id, {_tag_of(action): str(action.why)})
        say_canceling(instance, run, f"{action}. Its process sees that within seconds, and ends")


def _tag_of(action: Action) -> str:
    return REPLACED if action.why is Why.OUTDATED else FAULT


def _mention_stops(stops: dict[str, StreamStop], action: Action) -> str:
    if not stops or action.why is Why.STOPPED:
        return ""
    return f"; stopped deliberately: {in_words(stops)}"


def _mention(lost: Sequence[str]) -> str:
    return f"; marked failed: {', '.join(lost)}" if lost else ""
