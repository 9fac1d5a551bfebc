import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status

from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.processes import FAULT, REPLACED
from lake_assets.defs.supervision import act, build, observe
from lake_assets.model.heartbeat import Heartbeat
from lake_assets.model.processes import ProcessId
from lake_assets.runtime.processes import boot_id, process_of
from lake_assets.settings.schema import Settings, StorageSettings
from lake_assets.state.files import own_heartbeat, streams_lock, write_heartbeat
from lake_assets.state.lease import LakeLease
from lake_assets.supervision.decide import decide
from lake_assets.supervision.facts import (
    Action,
    EndedRun,
    Ending,
    Kind,
    Observed,
    Phase,
    Policy,
    RunFact,
    Why,
)
from lake_assets.supervision.sensor_cursor import Backoff, Memory
from lake_assets_tests.sample import GAMES


@dg.job
def streams():
    """Stands for the streams' job."""


@dg.job
def run_feed_a():
    """Stands for the job of a feed."""


Tick = Callable[[str | None], dg.SensorResult]

NOW = 1000.0

NOBODY = ProcessId(boot="another", pid=1, start="1")


@pytest.fixture
def observed(
    settings: Settings, instance: dg.DagsterInstance, lake: str
) -> Callable[..., Observed]:
    """What is observed now, by a clock of the wall that was set by so many seconds."""

    def look(*, step_s: float = 0) -> Observed:
        return observe(settings, instance, lake, now=NOW, utc_now=time.time() + step_s)

    return look


@pytest.fixture
def tick(settings: Settings, instance: dg.DagsterInstance) -> Tick:
    """One look of the sensor, from a cursor."""
    sensor = next(iter(build(settings, [GAMES]).sensors or ()))
    assert isinstance(sensor, dg.SensorDefinition)

    def look(cursor: str | None) -> dg.SensorResult:
        result = sensor(dg.build_sensor_context(instance=instance, cursor=cursor))
        assert isinstance(result, dg.SensorResult)
        return result

    return look


def test_streams_that_are_absent_are_started(tick):
    (request,) = tick(None).run_requests
    assert request.run_key is None


def test_streams_that_are_on_their_way_are_awaited(tick, run):
    run(Status.STARTED)
    result = tick(None)
    assert result.run_requests == []
    assert "begins or ends" in result.skip_reason.skip_message


def test_a_second_queued_run_is_taken_back(tick, run, instance):
    first, second = run(Status.QUEUED), run(Status.QUEUED)
    assert "another run does the work" in tick(None).skip_reason.skip_message
    statuses = [instance.get_run_by_id(run_id).status for run_id in (first, second)]
    assert statuses == [Status.CANCELED, Status.QUEUED]


def test_games_become_partitions(tick, instance, lake):
    tick(None)
    assert instance.get_dynamic_partitions(f"games_{lake}") == ["uno", "go_fish"]


def test_memory_is_carried_in_the_cursor(tick, run):
    boot = boot_id()
    memory = Memory(boot=boot, backoff=Backoff(failures=1, counted_run="a", not_before=5.0))
    run_id = run(Status.QUEUED)
    before = Memory.from_json(tick(memory.to_json()).cursor, boot=boot)
    assert before.backoff == memory.backoff
    assert [seen.run_id for seen in before.sightings] == [run_id]
    assert Memory.from_json(tick(before.to_json()).cursor, boot=boot) == before


def counted_deaths(result: dg.SensorResult) -> int:
    """The sensor waits 2 s after the first: a busy machine may need longer until it looks."""
    assert result.cursor is not None
    return Memory.from_json(result.cursor, boot=boot_id()).backoff.failures


def test_a_death_is_counted(tick, run):
    run(Status.FAILURE)
    assert counted_deaths(tick(None)) == 1


def test_a_death_is_answered_after_a_pause(tick, run):
    run(Status.FAILURE)
    earlier = Memory(boot=boot_id(), backoff=Backoff(failures=5, counted_run="a"))
    result = tick(earlier.to_json())
    assert not result.run_requests
    assert "the streams died" in result.skip_reason.skip_message


def test_where_every_feed_has_a_schedule_nothing_is_started(settings, instance):
    scheduled = GAMES.model_copy(update={"run": "0 * * * *"})
    (sensor,) = build(settings, [scheduled]).sensors or ()
    result = sensor(dg.build_sensor_context(instance=instance))
    assert not result.run_requests
    assert result.skip_reason.skip_message == Why.UNWANTED


def test_a_lake_that_another_machine_has_the_lease_of_gets_no_streams(
    settings, instance, s3, bucket, tmp_path
):
    storage = StorageSettings(options=s3.options)
    settings = settings.model_copy(update={"lake": Path(f"s3://{bucket}/lake"), "storage": storage})
    (sensor,) = build(settings, [GAMES]).sensors or ()
    context = dg.build_sensor_context(instance=instance)
    root, options = settings.lake_root, settings.storage.secrets
    theirs = LakeLease(root=root, options=options, state_dir=tmp_path / "theirs")
    with theirs.held(lambda _: False):
        refused = sensor(context)
        assert not refused.run_requests
        said = refused.skip_reason.skip_message
        assert said.startswith(Why.ELSEWHERE)
        assert f"state folder {tmp_path / 'theirs'}" in str(said)
    assert len(sensor(context).run_requests) == 1


def test_a_run_of_a_feed_that_has_the_lock_is_told_from_streams(settings, instance, lake, observed):
    tags = lake_tags(lake)
    kept = {
        name: instance.create_run_for_job(job, tags=tags).run_id
        for name, job in (("streams", streams), ("run_feed_a", run_feed_a))
    }
    with streams_lock(settings.state_dir):
        for name, run_id in kept.items():
            alive = own_heartbeat(run_id, progressed_at=NOW, waiting_for=None)
            write_heartbeat(settings.state_dir, alive)
            assert observed().is_run_of_feed is (name == "run_feed_a")
            assert observed().is_beater_ours


def test_a_rubbish_cursor_does_not_stop_the_sensor(tick):
    assert len(tick("rubbish").run_requests) == 1


def test_a_run_that_lost_its_process_is_marked_failed(tick, run, instance, observed):
    run_id = run(Status.STARTED)
    memory = Memory().see([RunFact(run_id=run_id, phase=Phase.RUNNING)], NOW - 60)
    action, _ = decide(observed(), memory, Policy(stall_after_s=180))
    act(action, Observed(now=0, is_locked=False), instance)
    assert instance.get_run_by_id(run_id).status is Status.FAILURE
    assert counted_deaths(tick(None)) == 1


def test_a_process_that_hangs_is_asked_to_end(instance, sleeper):
    beat = Heartbeat(
        process=process_of(sleeper.pid), owner="A", began_at=0.0, at=0.0, progressed_at=0.0
    )
    seen = Observed(now=0, is_locked=True, beat=beat, is_beater_alive=True, is_beater_ours=True)
    act(Action(kind=Kind.ASK_TO_END, why=Why.SILENT), seen, instance)
    assert sleeper.wait(10) in {None, -signal.SIGTERM}


@pytest.mark.parametrize(
    ("why", "tag"), [(Why.STALLED, FAULT), (Why.OUTDATED, REPLACED), (Why.STUBBORN, FAULT)]
)
def test_why_a_run_is_asked_to_end_is_noted_at_it(run, instance, why, tag):
    run_id = run(Status.STARTED)
    gone = own_heartbeat(run_id, progressed_at=NOW, waiting_for=None)
    seen = Observed(now=0, is_locked=True, beat=replace(gone, process=NOBODY))
    act(Action(kind=Kind.ASK_TO_END, why=why), seen, instance)
    assert instance.get_run_by_id(run_id).tags.keys() & {FAULT, REPLACED} == {tag}


def test_an_empty_instance_is_observed(observed):
    assert observed() == Observed(now=NOW, is_locked=False)


def test_a_holder_of_this_instance_is_told_from_others(settings, run, observed):
    run_id = run(Status.STARTED)
    with streams_lock(settings.state_dir):
        for owner, is_ours in ((run_id, True), ("elsewhere", False), ("cli", False)):
            beat = own_heartbeat(owner, progressed_at=1.0, waiting_for=None)
            write_heartbeat(settings.state_dir, beat)
            seen = observed()
            assert (seen.is_locked, seen.is_beater_alive, seen.is_beater_ours) == (
                True,
                True,
                is_ours,
            )


def test_every_unfinished_status_has_its_phase(run, observed):
    expected = {
        run(Status.QUEUED): Phase.WAITING,
        run(Status.NOT_STARTED): Phase.LAUNCHING,
        run(Status.STARTING): Phase.LAUNCHING,
        run(Status.STARTED): Phase.RUNNING,
        run(Status.CANCELING): Phase.CANCELING,
    }
    seen = observed()
    assert {fact.run_id: fact.phase for fact in seen.runs} == expected


@pytest.mark.parametrize(("step_s", "is_ahead"), [(-86_400, True), (-10, False), (3600, False)])
def test_an_end_that_is_to_come_is_known_by_a_clock_that_was_set_back(
    run, observed, step_s, is_ahead
):
    run(Status.CANCELED)
    assert observed(step_s=step_s).last_ended.is_ahead is is_ahead


@pytest.mark.parametrize("step_s", [-86_400, -10, 0, 3600])
def test_a_clock_that_is_set_keeps_no_death_waiting(run, step_s, observed):
    run(Status.FAILURE)
    died = observed(step_s=step_s).last_ended
    assert died.lived_s >= 0
    assert max(0, step_s) <= died.ended_ago_s <= max(0, step_s) + 60


def test_the_runs_of_another_lake_are_its_own(run, tick, observed):
    for status in (Status.STARTED, Status.FAILURE):
        run(status, of="another")
    assert observed() == Observed(now=NOW, is_locked=False)
    assert len(tick(None).run_requests) == 1


@pytest.mark.parametrize(
    ("status", "ending"),
    [
        (Status.FAILURE, Ending.DIED),
        (Status.CANCELED, Ending.STOPPED),
        (Status.SUCCESS, Ending.STOPPED),
    ],
)
def test_the_last_ended_run_says_how(run, status, ending, observed):
    run_id = run(status)
    seen = observed().last_ended
    assert isinstance(seen, EndedRun)
    assert (seen.run_id, seen.ending) == (run_id, ending)
