import time

import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status

from lake_assets.defs.processes import PROCESS, Fence, fail_lost_runs, note_process


def lost_runs(instance: dg.DagsterInstance, *, later_s: float = 0) -> list[str]:
    return fail_lost_runs(instance, now=time.time() + later_s, launch_within_s=90)


@pytest.fixture
def dead_process(sleeper):
    name = f"{sleeper.pid}@{sleeper.create_time()}"
    sleeper.kill()
    sleeper.wait()
    return name


def test_a_run_whose_process_is_gone_is_marked_failed(instance, run, dead_process):
    run_id = run(Status.STARTED)
    instance.add_run_tags(run_id, {PROCESS: dead_process})
    assert lost_runs(instance) == [run_id]
    assert instance.get_run_by_id(run_id).status is Status.FAILURE
    assert lost_runs(instance) == []


def test_a_run_whose_process_lives_is_left_alone(instance, run):
    note_process(instance, run(Status.STARTED))
    assert lost_runs(instance) == []


def test_a_run_that_has_not_said_its_process_is_left_alone(instance, run):
    run(Status.STARTED)
    assert lost_runs(instance) == []


@pytest.mark.parametrize("status", [Status.NOT_STARTED, Status.STARTING])
def test_a_run_that_is_being_launched_has_its_time(instance, run, status):
    run_id = run(status)
    assert lost_runs(instance, later_s=80) == []
    assert lost_runs(instance, later_s=100) == [run_id]


def test_a_queued_run_has_no_process_to_lose(instance, run):
    run(Status.QUEUED)
    assert lost_runs(instance, later_s=9999) == []


def test_a_run_on_record_as_started_may_go_on(instance, run):
    Fence(instance, run(Status.STARTED)).check()


@pytest.mark.parametrize("status", [Status.CANCELING, Status.CANCELED, Status.FAILURE])
def test_a_run_that_is_over_on_record_is_stopped(instance, run, status):
    with pytest.raises(dg.Failure, match=f"says {status.value}"):
        Fence(instance, run(status)).check()


def test_a_run_that_nobody_knows_is_stopped(instance):
    with pytest.raises(dg.Failure, match="says unknown"):
        Fence(instance, "nobody").check()


def test_the_fence_does_not_ask_at_every_step(instance, run):
    run_id = run(Status.STARTED)
    fence = Fence(instance, run_id)
    fence.check()
    instance.report_run_canceled(instance.get_run_by_id(run_id))
    fence.check()
