import dagster as dg
import pytest

from lake_assets.defs.internals.runs import cancel_run
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.maintenance import build
from lake_assets_tests.maintenance.lakes import WrittenLake
from lake_assets_tests.sample import GAMES, RENAMED, silver_of

UNO = silver_of("uno")


@pytest.fixture
def defs(settings):
    return build(settings, [GAMES, RENAMED])


@pytest.fixture
def run(defs, instance):
    def go(**config):
        job = defs.resolve_job_def("maintain")
        ops = {"ops": {"maintain_tables_of_games": {"config": config}}}
        done = job.execute_in_process(instance=instance, run_config=ops)
        return done.get_asset_materialization_events()

    return go


def test_an_event_tells_what_was_done_and_there_is_none_where_nothing_was(run, settings):
    lake = WrittenLake(settings, "games")
    lake.create(UNO, "uno")
    lake.append(UNO, 20)
    lake.committer.close()
    (event,) = run()
    made = event.step_materialization_data.materialization
    assert made.asset_key == dg.AssetKey("maintenance")
    assert made.metadata["files_joined"].value == 20
    (record,) = made.metadata["by_table"].records
    assert (record.data["table"], record.data["into"]) == ("silver_uno_events", 1)
    assert run() == []
    assert run(keys=["uno"]) == []


def test_the_schedule_waits_for_the_last_run(defs, stored, lake):
    (schedule,) = defs.schedules
    assert (schedule.cron_schedule, schedule.default_status.value) == ("*/15 * * * *", "RUNNING")
    with dg.build_schedule_context(instance=stored) as context:
        assert schedule.evaluate_tick(context).run_requests
        job = defs.resolve_job_def("maintain")
        under_way = stored.create_run_for_job(
            job, status=dg.DagsterRunStatus.STARTED, tags=lake_tags(lake)
        )
        assert "still under way" in schedule.evaluate_tick(context).skip_message
        cancel_run(stored, under_way, "done")
        assert schedule.evaluate_tick(context).run_requests
