import signal
import time
from collections.abc import Callable

import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status

from lake_assets.defs.supervision import act, build, observe
from lake_assets.lake.state import Heartbeat, own_heartbeat, streams_lock, write_heartbeat
from lake_assets.settings.schema import Settings
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
from lake_assets.supervision.memory import Backoff, Memory
from lake_assets_tests.sample import GAMES

Tick = Callable[[str | None], dg.SensorResult]


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


def test_games_become_partitions(tick):
    (request,) = tick(None).dynamic_partitions_requests
    assert (request.partitions_def_name, list(request.partition_keys)) == (
        "games",
        ["uno", "go_fish"],
    )


def test_games_that_are_known_are_not_added_again(tick, instance):
    instance.add_dynamic_partitions("games", ["uno", "go_fish"])
    assert tick(None).dynamic_partitions_requests == []


def test_memory_is_carried_in_the_cursor(tick):
    memory = Memory(backoff=Backoff(failures=1, counted_run="a", not_before=5.0))
    assert Memory.from_json(tick(memory.to_json()).cursor) == memory


def test_a_death_is_answered_after_a_pause(tick, run):
    run(Status.FAILURE)
    result = tick(None)
    assert not result.run_requests
    assert "the streams died" in result.skip_reason.skip_message


def test_a_rubbish_cursor_does_not_stop_the_sensor(tick):
    assert len(tick("rubbish").run_requests) == 1


def test_a_run_that_lost_its_process_is_marked_failed(tick, run, instance, settings):
    run_id = run(Status.STARTED)
    record = instance.get_run_record_by_id(run_id)
    action, _ = decide(
        observe(settings, instance, now=record.create_timestamp.timestamp() + 60),
        Memory(),
        Policy(stall_after_s=180),
    )
    act(action, Observed(now=0, is_locked=False), instance)
    assert instance.get_run_by_id(run_id).status is Status.FAILURE
    assert "the streams died" in tick(None).skip_reason.skip_message


def test_a_process_that_hangs_is_asked_to_end(instance, sleeper):
    beat = Heartbeat(
        pid=sleeper.pid,
        process_started_at=sleeper.create_time(),
        owner="A",
        at=0.0,
        progressed_at=0.0,
    )
    seen = Observed(now=0, is_locked=True, beat=beat, is_beater_alive=True, is_beater_ours=True)
    act(Action(kind=Kind.ASK_TO_END, why=Why.SILENT), seen, instance)
    assert sleeper.wait(10) in {None, -signal.SIGTERM}


def test_an_empty_instance_is_observed(settings, instance):
    assert observe(settings, instance, now=5.0) == Observed(now=5.0, is_locked=False)


def test_a_holder_of_this_instance_is_told_from_others(settings, instance, run):
    run_id = run(Status.STARTED)
    with streams_lock(settings.state_dir):
        for owner, is_ours in ((run_id, True), ("elsewhere", False), ("cli", False)):
            beat = own_heartbeat(owner, progressed_at=1.0, waiting_for=None)
            write_heartbeat(settings.state_dir, beat)
            seen = observe(settings, instance, now=5.0)
            assert (seen.is_locked, seen.is_beater_alive, seen.is_beater_ours) == (
                True,
                True,
                is_ours,
            )


def test_every_unfinished_status_has_its_phase(settings, instance, run):
    expected = {
        run(Status.QUEUED): Phase.WAITING,
        run(Status.NOT_STARTED): Phase.LAUNCHING,
        run(Status.STARTING): Phase.LAUNCHING,
        run(Status.STARTED): Phase.RUNNING,
        run(Status.CANCELING): Phase.CANCELING,
    }
    seen = observe(settings, instance, now=time.time())
    assert {fact.run_id: fact.phase for fact in seen.runs} == expected


def test_a_run_is_as_old_as_its_start_or_its_record(settings, instance, run):
    before = time.time()
    run(Status.STARTED)
    (fact,) = observe(settings, instance, now=time.time()).runs
    assert isinstance(fact, RunFact)
    assert before - 1 <= fact.since <= time.time()


@pytest.mark.parametrize(
    ("status", "ending"),
    [
        (Status.FAILURE, Ending.DIED),
        (Status.CANCELED, Ending.STOPPED),
        (Status.SUCCESS, Ending.STOPPED),
    ],
)
def test_the_last_ended_run_says_how(settings, instance, run, status, ending):
    run_id = run(status)
    seen = observe(settings, instance, now=time.time()).last_ended
    assert isinstance(seen, EndedRun)
    assert (seen.run_id, seen.ending) == (run_id, ending)
