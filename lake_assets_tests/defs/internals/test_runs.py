import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status
from dagster._core.storage import tags

from lake_assets.defs.internals.runs import NO_LIMIT, cancel_run, fail_run, range_tags, tag_run


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
