import json
import shutil

import dagster as dg
import pytest

from lake_assets.defs.backup import build
from lake_assets.defs.internals.runs import cancel_run
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.settings.upkeep import BackupSettings
from lake_assets.state.backup_notes import note_of
from lake_assets_tests.backup.lakes import FISH, UNO, BatchedLake, place_at, restored, rows_in
from lake_assets_tests.sample import GAMES


@pytest.fixture
def wanted(settings, tmp_path):
    """Settings that say where backups go."""
    target = BackupSettings(target=str(tmp_path / "place"), schedule="5 * * * *", keep=2)
    return settings.model_copy(update={"backup": target})


@pytest.fixture
def written(settings):
    lake = BatchedLake(settings)
    lake.ingest()
    lake.demux(UNO, FISH)
    yield lake
    lake.committer.close()


@pytest.fixture
def defs(wanted):
    return build(wanted, [GAMES])


@pytest.fixture
def run(defs, instance):
    def go(**options):
        job = defs.resolve_job_def("backup")
        return job.execute_in_process(instance=instance, **options)

    return go


def made(done):
    (event,) = done.get_asset_materialization_events()
    assert event.asset_key == dg.AssetKey("backup")
    return event.step_materialization_data.materialization.metadata


def test_without_a_target_there_is_nothing(settings):
    found = build(settings, [GAMES])
    assert not any((found.assets, found.jobs, found.schedules))


@pytest.mark.usefixtures("written")
def test_an_event_tells_which_backup_how_large_and_how_long(run, wanted, tmp_path):
    told = made(run())
    assert (told["backup"].value, told["tables"].value, told["copied_files"].value) == (1, 5, 3)
    assert told["size_bytes"].value == told["copied_bytes"].value > 0
    assert told["seconds"].value > 0
    assert told["target"].value == str(tmp_path / "place")
    noted = note_of(wanted.state_dir, str(tmp_path / "place"))
    assert (noted.number, noted.made_at) == (1, told["made_at"].value)
    sizes = [record.data["size_bytes"] for record in told["by_table"].records]
    assert sizes == sorted(sizes, reverse=True)
    elsewhere = wanted.model_copy(update={"home": tmp_path / "elsewhere"})
    restored(elsewhere, tmp_path / "place")
    assert rows_in(elsewhere) == rows_in(wanted)


def test_as_many_stay_as_are_to_be_kept(run, written, tmp_path):
    for _ in range(4):
        run()
        written.demux(UNO)
    assert place_at(tmp_path / "place").numbers() == [3, 4]


def test_what_is_noted_of_a_backup_is_shown(run, written):
    shutil.copytree(written.path(UNO), written.path(UNO).with_name("odd name"))
    assert "odd name is not in the backup" in made(run())["notes"].value


@pytest.mark.parametrize("what", ["a file", "another lake", "something else"])
@pytest.mark.usefixtures("written")
def test_a_target_that_cannot_be_used_fails_the_run_and_is_noted(run, wanted, tmp_path, what):
    place = tmp_path / "place"
    if what == "a file":
        place.write_text("")
        told = "Not a directory"
    elif what == "another lake":
        place.mkdir()
        (place / "_backup.json").write_text(json.dumps({"format": 1, "lake": "other"}))
        told = "has backups of lake other"
    else:
        (place / "thesis").mkdir(parents=True)
        told = "has files, and is no place of backups"
    done = run(raise_on_error=False)
    assert not done.success
    assert any(told in str(event) for event in done.all_events)
    noted = note_of(wanted.state_dir, str(place))
    assert (noted.number, told in noted.why) == (None, True)


@pytest.mark.usefixtures("written")
def test_when_the_target_is_there_again_the_failure_is_forgotten(run, wanted, tmp_path):
    place = tmp_path / "place"
    place.write_text("")
    run(raise_on_error=False)
    place.unlink()
    run()
    noted = note_of(wanted.state_dir, str(place))
    assert (noted.number, noted.failed_at, noted.why) == (1, None, "")


def test_it_is_noted_since_when_backups_are_wanted(wanted, tmp_path):
    build(wanted, [GAMES])
    first = note_of(wanted.state_dir, str(tmp_path / "place"))
    assert first.wanted_since
    build(wanted, [GAMES])
    assert note_of(wanted.state_dir, str(tmp_path / "place")) == first


def test_the_schedule_waits_for_the_last_run(defs, stored, lake):
    (schedule,) = defs.schedules
    assert (schedule.cron_schedule, schedule.default_status.value) == ("5 * * * *", "RUNNING")
    with dg.build_schedule_context(instance=stored) as context:
        assert schedule.evaluate_tick(context).run_requests
        under_way = stored.create_run_for_job(
            defs.resolve_job_def("backup"),
            status=dg.DagsterRunStatus.STARTED,
            tags=lake_tags(lake),
        )
        assert "still under way" in schedule.evaluate_tick(context).skip_message
        cancel_run(stored, under_way, "done")
        assert schedule.evaluate_tick(context).run_requests
