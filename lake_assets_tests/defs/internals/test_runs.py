import signal

import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status
from dagster._core.storage import tags

from lake_assets.defs.internals.runs import (
    NO_LIMIT,
    cancel_run,
    fail_run,
    range_tags,
    say_canceling,
    starts_children,
    tag_run,
    was_interrupted,
)


def test_our_tags_are_those_that_dagster_reads():
    assert range_tags(["a", "b", "c"]) == {
        tags.ASSET_PARTITION_RANGE_START_TAG: "a",
        tags.ASSET_PARTITION_RANGE_END_TAG: "c",
    }
    assert NO_LIMIT == {tags.MAX_RUNTIME_SECONDS_TAG: "0"}


@dg.job
def streams():
    """Stands for the real one."""


def test_a_runs_tags_are_added_to_its_record(instance):
    run = instance.create_run_for_job(streams, tags={"a": "1"})
    tag_run(instance, run.run_id, {"b": "2"})
    assert instance.get_run_by_id(run.run_id).tags == {"a": "1", "b": "2"}


@pytest.mark.parametrize(("end", "status"), [(fail_run, "FAILURE"), (cancel_run, "CANCELED")])
def test_a_record_is_ended_from_outside(instance, end, status):
    run = instance.create_run_for_job(streams, status=Status.STARTED)
    end(instance, run, "its process is gone")
    assert instance.get_run_by_id(run.run_id).status is Status(status)
    assert any(
        "its process is gone" in record.event_log_entry.message
        for record in instance.get_records_for_run(run.run_id).records
    )


@pytest.mark.parametrize("is_said", [True, False])
def test_a_run_that_a_signal_ended_is_told_from_one_that_failed(instance, is_said):
    @dg.op
    def stream(context: dg.OpExecutionContext):
        if is_said:
            say_canceling(instance, context.run, "a signal")
        signal.raise_signal(signal.SIGTERM)

    @dg.job(executor_def=dg.in_process_executor)
    def interrupted():
        stream()

    with pytest.raises(dg.DagsterExecutionInterruptedError):
        interrupted.execute_in_process(instance=instance)
    (run,) = instance.get_runs()
    assert run.status is (Status.CANCELED if is_said else Status.FAILURE)
    assert was_interrupted(run) is not is_said


def test_a_run_that_failed_by_itself_was_not_interrupted(instance):
    @dg.op
    def fail():
        raise ValueError

    @dg.job(executor_def=dg.in_process_executor)
    def failing():
        fail()

    failing.execute_in_process(instance=instance, raise_on_error=False)
    (run,) = instance.get_runs()
    assert run.status is Status.FAILURE
    assert not was_interrupted(run)


def test_a_launcher_of_children_is_told_from_one_of_pods(instance, stored, monkeypatch):
    assert starts_children(instance)
    assert starts_children(stored)
    monkeypatch.setattr(instance, "_run_launcher", object())
    assert not starts_children(instance)
