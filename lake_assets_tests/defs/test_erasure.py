from uuid import uuid4

import dagster as dg
import pytest

from lake_assets.defs.erasure import build
from lake_assets.defs.internals.runs import cancel_run
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.erasure.requests import make_table
from lake_assets.errors import ErasureError
from lake_assets.model.tables import ERASURE_REQUESTS
from lake_assets.spark.lake_context import open_lake
from lake_assets_tests.erasure.asking import Asking
from lake_assets_tests.sample import GAMES


@pytest.fixture
def defs(settings):
    return build(settings, [GAMES])


@pytest.fixture
def run(defs, instance):
    def go(**config):
        job = defs.resolve_job_def("erase")
        ops = {"ops": {"erase_rows": {"config": config}}}
        (event,) = job.execute_in_process(
            instance=instance, run_config=ops
        ).get_asset_materialization_events()
        return event.step_materialization_data.materialization

    return go


@pytest.fixture
def ask(settings):
    with open_lake(settings) as context:
        make_table(context.committer)
    return Asking(settings.lake_dir / ERASURE_REQUESTS.relative)


def test_it_does_what_the_table_asks_for_and_shows_hashes_alone(run, ask):
    ann = f"ann-{uuid4()}"  # of no other test: temporary files of all are looked at
    ask(("gamer_id", ann, None), ("gamer_id", f"bob-{uuid4()}", "drop"))
    made = run()
    assert made.metadata["found_by_proof"].value == 0
    assert made.asset_key == dg.AssetKey("erasures")
    (record,) = made.metadata["erasures"].records
    assert (record.data["column"], record.data["state"]) == ("gamer_id", "done")
    assert ann not in repr(made)
    assert ask.left() == []
    assert run().metadata["rows_erased"].value == 0


def test_a_file_of_values_is_what_its_form_takes(run, tmp_path):
    (tmp_path / "values").write_text("ann-7f3a-41c0\n")
    made = run(column="gamer_id", values_file=str(tmp_path / "values"))
    assert made.metadata["not_done"].value == 0
    with pytest.raises(ErasureError, match="cannot be read"):
        run(column="gamer_id")
    with pytest.raises(ErasureError, match="Name the column"):
        run(values_file=str(tmp_path / "values"))


def test_the_schedule_runs_it_where_somebody_asks(defs, stored, lake, ask):
    (schedule,) = defs.schedules
    assert (schedule.cron_schedule, schedule.default_status.value) == ("15 4 * * *", "RUNNING")
    with dg.build_schedule_context(instance=stored) as context:
        assert schedule.evaluate_tick(context).skip_message == "Nobody asks for an erasure"
        ask(("gamer_id", "ann", None))
        assert schedule.evaluate_tick(context).run_requests
        job = defs.resolve_job_def("erase")
        under_way = stored.create_run_for_job(
            job, status=dg.DagsterRunStatus.STARTED, tags=lake_tags(lake)
        )
        assert "still under way" in schedule.evaluate_tick(context).skip_message
        cancel_run(stored, under_way, "done")
