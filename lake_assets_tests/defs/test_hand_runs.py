from pathlib import Path

import dagster as dg
import pytest
import yaml
from dagster import DagsterRunStatus as Status

from lake_assets.defs.hand_runs import gold_pool, is_by_hand, limit_runtime, silver_pool
from lake_assets.defs.internals.runs import MAX_RUNTIME

ROOT = Path(__file__).parents[2]


def test_a_limit_is_noted_at_the_run_unless_it_has_one(instance, run):
    record = instance.get_run_by_id(run(Status.STARTED))
    for seconds in (7200, 60):  # a later step of the run, which knows the record as it began
        limit_runtime(instance, record, seconds)
        assert instance.get_run_by_id(record.run_id).tags[MAX_RUNTIME] == "7200"


@pytest.mark.parametrize(
    ("tags", "by_hand"),
    [
        ({}, True),
        ({"dagster/backfill": "abc"}, True),
        ({"dagster/schedule_name": "nightly"}, False),
        ({"dagster/sensor_name": "first"}, False),
        ({"dagster/from_automation_condition": "true"}, False),
    ],
)
def test_what_a_schedule_sensor_or_condition_started_is_not_by_hand(tags, by_hand):
    assert is_by_hand(dg.DagsterRun(job_name="any", tags=tags)) is by_hand


@pytest.mark.parametrize("file", ["dagster.yaml", "docker/dagster.yaml"])
def test_a_run_waits_for_its_pool_in_the_queue(file):
    pools = yaml.safe_load((ROOT / file).read_text())["concurrency"]["pools"]
    assert pools == {"granularity": "run", "default_limit": 1}
    assert gold_pool("a") != silver_pool("a") != silver_pool("b")
