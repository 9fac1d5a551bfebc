import dagster as dg
import pytest

from lake_assets.catalog.sync import registered_tables
from lake_assets.definitions import assemble
from lake_assets.defs.catalog import build
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.catalog.conftest import of_unity, unity, unity_server
from lake_assets_tests.catalog.lakes import FEED, fill

__all__ = ["of_unity", "unity", "unity_server"]


@pytest.fixture
def lake(of_unity):
    fill(of_unity)
    return of_unity


def run(settings, instance):
    job = build(settings, [FEED]).resolve_job_def("catalog")
    done = job.execute_in_process(instance=instance)
    (event,) = done.get_asset_materialization_events()
    assert event.asset_key == dg.AssetKey("catalog")
    return event.step_materialization_data.materialization.metadata


def test_without_a_catalogue_there_is_nothing(settings):
    found = build(settings, [FEED])
    assert not any((found.assets, found.jobs, found.schedules))


def test_an_event_tells_what_was_registered(lake, instance):
    told = run(lake, instance)
    assert (told["changed"].value, told["unchanged"].value, told["left_alone"].value) == (10, 0, 0)
    assert told["actions"].records[-1].data["why"] == "is new"
    assert "conflicts" not in told
    assert len(registered_tables(lake)) == 6
    assert run(lake, instance)["unchanged"].value == 6


def test_names_of_others_are_told(lake, instance, tmp_path):
    run(lake, instance)
    other = lake.model_copy(update={"home": tmp_path / "other"})
    fill(other)
    told = run(other, instance)
    assert told["left_alone"].value == 6
    assert f"is registered by lake {lake_id(lake)}" in told["conflicts"].value


def test_a_schedule_waits_for_a_run_that_is_at_it(lake, stored):
    found = assemble(lake, [FEED])
    dg.Definitions.validate_loadable(found)
    schedule = found.get_repository_def().get_schedule_def("catalog_schedule")
    assert schedule.cron_schedule == "*/15 * * * *"

    with dg.build_schedule_context(instance=stored) as context:
        assert schedule.evaluate_tick(context).run_requests
        job = build(lake, [FEED]).resolve_job_def("catalog")
        tags = lake_tags(lake_id(lake))
        stored.create_run_for_job(job, status=dg.DagsterRunStatus.STARTED, tags=tags)
        assert "still under way" in str(schedule.evaluate_tick(context).skip_message)
