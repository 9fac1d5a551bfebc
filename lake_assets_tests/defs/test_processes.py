import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status

from lake_assets.defs.lake_scope import LAKE, UNFINISHED, runs_of
from lake_assets.defs.processes import (
    FAULT,
    PROCESS,
    REPLACED,
    Fence,
    fail_lost_runs,
    has_died,
    note_process,
)
from lake_assets.runtime.processes import process_of
from lake_assets_tests.defs.origins import REPOSITORY
from lake_assets_tests.defs.pods import use_pods


@pytest.fixture
def lost_runs(instance, lake):
    """Marks lost runs of the lake as failed, as the supervisor does; returns their ids."""

    def mark(*, is_overdue: bool = False) -> list[str]:
        unfinished = instance.get_runs(runs_of(lake, UNFINISHED))
        return fail_lost_runs(instance, unfinished, lambda _: is_overdue)

    return mark


@pytest.fixture
def dead_process(sleeper):
    name = str(process_of(sleeper.pid))
    sleeper.kill()
    sleeper.wait()
    return name


def test_a_run_whose_process_is_gone_is_marked_failed(instance, run, lost_runs, dead_process):
    run_id = run(Status.STARTED)
    instance.add_run_tags(run_id, {PROCESS: dead_process})
    assert lost_runs() == [run_id]
    assert instance.get_run_by_id(run_id).status is Status.FAILURE
    assert lost_runs() == []


def test_a_run_from_before_a_reboot_is_marked_failed(instance, run, lost_runs, sleeper):
    run_id = run(Status.STARTED)
    _, _, rest = str(process_of(sleeper.pid)).partition("/")
    instance.add_run_tags(run_id, {PROCESS: f"before/{rest}"})
    assert lost_runs() == [run_id]


def test_a_run_whose_process_lives_is_left_alone(instance, run, lost_runs, lake):
    note_process(instance, run(Status.STARTED), lake)
    assert lost_runs() == []


def test_a_run_by_hand_is_the_lakes_once_its_process_has_said_so(instance, run, lake):
    run_id = run(Status.STARTED, of="none")
    note_process(instance, run_id, lake)
    assert instance.get_run_by_id(run_id).tags[LAKE] == lake


@pytest.mark.parametrize("said", [{}, {PROCESS: "1@1.0"}], ids=["nothing", "by the first release"])
def test_a_run_that_has_not_said_its_process_is_left_alone(instance, run, lost_runs, said):
    instance.add_run_tags(run(Status.STARTED), said)
    assert lost_runs() == []


@pytest.mark.parametrize("status", [Status.NOT_STARTED, Status.STARTING])
def test_a_run_that_is_being_launched_has_its_time(run, lost_runs, status):
    run_id = run(status)
    assert lost_runs() == []
    assert lost_runs(is_overdue=True) == [run_id]


def test_a_queued_run_has_no_process_to_lose(run, lost_runs):
    run(Status.QUEUED)
    assert lost_runs(is_overdue=True) == []


@pytest.mark.parametrize("status", [Status.STARTING, Status.STARTED])
def test_runs_of_others_are_not_ours_to_judge(instance, run, lost_runs, dead_process, status):
    """Another team's jobs, another lake's runs."""

    @dg.job
    def of_another_team():
        """Starts slowly."""

    theirs = instance.create_run_for_job(of_another_team, status=status)
    for run_id in (theirs.run_id, run(status, of="another lake")):
        instance.add_run_tags(run_id, {PROCESS: dead_process})
    assert lost_runs(is_overdue=True) == []


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


@pytest.fixture
def far_process(sleeper):
    """A process as it says its name in another container."""
    _, _, rest = str(process_of(sleeper.pid)).partition("/")
    return f"another container/{rest}"


@pytest.fixture
def pods(instance, monkeypatch):
    """The instance starts each run in a container of its own."""
    use_pods(instance, monkeypatch)


@pytest.mark.usefixtures("pods")
@pytest.mark.parametrize("status", [Status.STARTING, Status.STARTED, Status.CANCELING])
def test_a_run_in_a_container_of_its_own_is_its_launchers_to_judge(
    instance, run, lost_runs, far_process, status
):
    run_id = run(status)
    if status is not Status.STARTING:
        instance.add_run_tags(run_id, {PROCESS: far_process})
    assert lost_runs(is_overdue=True) == []
    assert instance.get_run_by_id(run_id).status is status


@pytest.mark.usefixtures("pods")
def test_a_dead_process_of_this_machine_is_lost_whoever_started_it(
    instance, run, lost_runs, dead_process
):
    run_id = run(Status.STARTED)
    instance.add_run_tags(run_id, {PROCESS: dead_process})
    assert lost_runs() == [run_id]


def test_a_run_of_another_code_location_on_another_machine_is_not_ours_to_judge(
    instance, run, lake, far_process
):
    run_id = run(Status.STARTED)
    instance.add_run_tags(run_id, {PROCESS: far_process})
    unfinished = instance.get_runs(runs_of(lake, UNFINISHED))
    assert fail_lost_runs(instance, unfinished, lambda _: True, "another location") == []
    assert fail_lost_runs(instance, unfinished, lambda _: True, REPOSITORY.get_selector_id()) == [
        run_id
    ]


def test_a_run_that_was_replaced_by_its_record_has_not_died(instance, run):
    run_id = run(Status.FAILURE)
    assert has_died(instance.get_run_by_id(run_id))
    instance.add_run_tags(run_id, {REPLACED: "older code"})
    assert not has_died(instance.get_run_by_id(run_id))
    instance.add_run_tags(run_id, {FAULT: "no heartbeat"})
    assert has_died(instance.get_run_by_id(run_id))
