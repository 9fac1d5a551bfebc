import json
import os
import shutil
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.backup.manifest import FORMAT
from lake_assets.backup.progress import Progress
from lake_assets.delta.table_log import log_of
from lake_assets.errors import LakeError
from lake_assets.maintenance.run import maintain
from lake_assets.settings.upkeep import MaintenanceSettings
from lake_assets.state.backup_hold import backup_turn
from lake_assets_tests.backup.lakes import (
    BRONZE,
    FISH,
    QUARANTINE,
    UNO,
    UNO_AGG,
    BatchedLake,
    backed_up,
    place_at,
    restored,
    rows_in,
    versions_in,
)
from lake_assets_tests.sample import GAMES


def die_after(settings, what, place, files):
    module = "lake_assets_tests.backup.doomed"
    command = [sys.executable, "-m", module, what, str(place), str(files)]
    text = settings.model_dump_json()
    return subprocess.run(command, input=text, text=True, check=False).returncode  # noqa: S603 - our own program


def test_all_tables_are_copied_as_they_are(settings, lake, place, elsewhere):
    manifest = backed_up(settings, place)
    assert versions_in(manifest) == lake.versions(BRONZE, QUARANTINE, UNO, FISH, UNO_AGG)
    assert manifest.notes == ()
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows_in(settings)


def test_a_second_backup_copies_what_is_new(settings, lake, place):
    backed_up(settings, place)
    lake.ingest()
    lake.demux(UNO)
    progress = Progress()
    second = backed_up(settings, place, progress)
    assert (second.number, progress.copied_files, progress.kept_files) == (2, 2, 3 * 4)


def test_each_backup_of_a_place_can_be_restored(settings, lake, place, tmp_path):
    backed_up(settings, place)
    first = rows_in(settings)
    lake.demux(UNO)
    lake.committer.compact(UNO)
    backed_up(settings, place)
    for number, rows in ((1, first), (2, rows_in(settings))):
        target = settings.model_copy(update={"home": tmp_path / f"home {number}"})
        restored(target, place, number=number)
        assert rows_in(target) == rows


def test_what_is_committed_meanwhile_is_left_to_the_next(settings, lake, place, elsewhere):
    rows, versions = rows_in(settings), lake.versions(BRONZE, QUARANTINE, UNO, FISH, UNO_AGG)
    progress = Progress()
    done = []

    def go_on(_):
        if not done:
            done.append(1)
            lake.ingest()
            lake.demux(UNO, FISH)
            lake.refresh()

    progress.told = go_on
    assert versions_in(backed_up(settings, place, progress)) == versions
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows


def test_maintenance_leaves_what_a_backup_under_way_reads(settings, lake, place, elsewhere):
    lake.committer.settle()
    rows = rows_in(settings)
    quick = settings.model_copy(
        update={"maintenance": MaintenanceSettings(keep_hours=1e-9, join_at_files=2)}
    )
    progress, told = Progress(), []

    def maintain_twice(_):
        if not told:
            told.append("")
            maintain(quick, GAMES)
            lake.demux(UNO, FISH)
            told.extend(note for one in maintain(quick, GAMES) for note in one.notes)

    progress.told = maintain_twice
    manifest = backed_up(settings, place, progress)
    assert "older versions are kept: a backup is under way" in told
    assert manifest.number == 1
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows
    assert "a backup is under way" not in " ".join(
        n for o in maintain(quick, GAMES) for n in o.notes
    )


def test_files_that_another_engine_deletes_meanwhile_are_chosen_anew(settings, lake, place):
    progress, done = Progress(), []

    def vacuum(_):
        if not done:
            done.append(1)
            for table in (BRONZE, UNO, FISH):
                handle = DeltaTable(lake.path(table))
                handle.optimize.compact()
                handle.vacuum(0, enforce_retention_duration=False, dry_run=False)

    progress.told = vacuum
    manifest = backed_up(settings, place, progress)
    assert versions_in(manifest)[UNO.relative] == lake.version(UNO)


@pytest.mark.parametrize("files", [0, 1, 5, 18])
@pytest.mark.usefixtures("lake")
def test_a_backup_that_was_killed_is_none_and_the_next_goes_on(settings, place, elsewhere, files):
    assert die_after(settings, "backup", place, files) == -signal.SIGKILL
    if place.exists():
        with pytest.raises(LakeError, match=r"no whole backup|is no place of backups"):
            restored(elsewhere, place)
    progress = Progress()
    assert backed_up(settings, place, progress).number == 1
    assert progress.kept_files >= (files > 10)
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows_in(settings)


def test_a_backup_that_was_killed_leaves_the_one_before(settings, lake, place, elsewhere):
    backed_up(settings, place)
    rows = rows_in(settings)
    lake.demux(UNO, FISH)
    assert die_after(settings, "backup", place, 4) == -signal.SIGKILL
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows


@pytest.mark.usefixtures("lake")
def test_what_was_left_before_the_machine_started_again_is_not_relied_on(settings, place):
    assert die_after(settings, "backup", place, 18) == -signal.SIGKILL
    (place / "_unfinished.json").write_text("another boot")
    torn = next(place.glob("data/bronze/**/*.parquet"))
    torn.write_bytes(bytes(torn.stat().st_size))
    assert die_after(settings, "backup", place, 3) == -signal.SIGKILL
    progress = Progress()
    backed_up(settings, place, progress)
    assert progress.kept_files == 0
    assert torn.read_bytes()[:4] == b"PAR1"


def test_a_file_that_is_missing_is_named(settings, lake, place):
    path = sorted(lake.path(UNO).glob("*.parquet"))
    oldest = min(path, key=lambda one: one.stat().st_mtime_ns)
    oldest.unlink()
    with pytest.raises(LakeError, match=rf"{oldest.name}: is missing, and a table's log names it"):
        backed_up(settings, place)


def test_a_file_that_is_torn_is_named(settings, lake, place):
    oldest = min(lake.path(UNO).glob("*.parquet"), key=lambda one: one.stat().st_mtime_ns)
    os.truncate(oldest, 10)
    with pytest.raises(LakeError, match=rf"{oldest.name}: has 10 bytes, .* it is torn"):
        backed_up(settings, place)


def test_a_table_whose_files_are_elsewhere_is_refused_by_name(settings, lake, place):
    log = log_of(lake.store, UNO)
    file = next(lake.path(UNO).glob("*.parquet"))
    add = {"path": f"file://{file}", "size": file.stat().st_size, "partitionValues": {}}
    add |= {"modificationTime": 0, "dataChange": True}
    assert log.put(lake.version(UNO) + 1, [{"add": add}])
    with pytest.raises(LakeError, match=rf"{UNO.relative}: has files that lie elsewhere"):
        backed_up(settings, place)


@pytest.mark.usefixtures("lake")
def test_a_place_of_another_lake_or_with_other_files_is_refused(settings, place, tmp_path):
    backed_up(settings, place)
    (place / "_backup.json").write_text(json.dumps({"format": 1, "lake": "other"}))
    with pytest.raises(LakeError, match="has backups of lake other"):
        backed_up(settings, place)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("")
    with pytest.raises(LakeError, match="has files, and is no place of backups"):
        backed_up(settings, tmp_path / "full")


@pytest.mark.parametrize("damaged", ["backups/000001.json", "backups/000001-*/silver/*.json"])
def test_after_one_that_is_damaged_comes_one_that_is_whole(
    settings, lake, place, elsewhere, damaged
):
    backed_up(settings, place)
    file = next(place.glob(damaged))
    file.write_text(file.read_text()[:-20])
    lake.demux(UNO)
    assert backed_up(settings, place).number == 2
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows_in(settings)


def test_a_table_that_no_lake_has_by_its_name_is_told(settings, lake, place):
    write_deltalake(lake.path(UNO).with_name("others.v2"), pa.table({"n": [1]}))
    (note,) = backed_up(settings, place).notes
    assert note.startswith("silver/others.v2 is not in the backup")


@pytest.mark.usefixtures("lake")
def test_a_place_of_a_later_release_is_refused(settings, place):
    backed_up(settings, place)
    (place / "_backup.json").write_text(json.dumps({"format": FORMAT + 1, "lake": "other"}))
    with pytest.raises(LakeError, match="Use a newer release"):
        backed_up(settings, place)


@pytest.mark.parametrize("inside", ["backups", "."])
@pytest.mark.usefixtures("lake")
def test_a_place_in_the_lake_is_refused(settings, inside):
    with pytest.raises(LakeError, match="lies in the lake"):
        backed_up(settings, settings.lake_dir / inside)


@pytest.mark.usefixtures("lake")
def test_a_lake_in_the_place_is_refused(settings):
    with pytest.raises(LakeError, match=r"lies in the lake .* or the lake in it"):
        backed_up(settings, settings.home)


@pytest.mark.usefixtures("lake")
def test_a_second_one_at_once_is_refused(settings, place):
    with (
        backup_turn(settings.state_dir),
        pytest.raises(LakeError, match="another backup or restore of this lake is under way"),
    ):
        backed_up(settings, place)


def test_an_empty_lake_is_refused(settings, place):
    with pytest.raises(LakeError, match="has no tables"):
        backed_up(settings, place)
    assert not place.exists()


@pytest.mark.usefixtures("lake")
def test_what_the_state_knows_of_expectations_and_schemas_goes_along(settings, place):
    for name in ("failing/games.json", "schemas/7", "journals/games-demux.json", "failing/x.lock"):
        file = settings.state_dir / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("[]")
    names = [file.path for file in backed_up(settings, place).state]
    assert names == ["failing/games.json", "schemas/7"]


def test_a_log_whose_beginning_was_swept_is_copied_with_its_checkpoint(
    settings, lake, place, elsewhere
):
    for _ in range(25):
        lake.demux(UNO)
    lake.committer.settle()
    DeltaTable(lake.path(UNO)).create_checkpoint()
    for commit in list((lake.path(UNO) / "_delta_log").glob("*.json")):
        if int(commit.stem) < lake.version(UNO):
            commit.unlink()
    backed_up(settings, place)
    shutil.rmtree(settings.lake_dir)
    restored(elsewhere, place)
    assert len(rows_in(elsewhere)[UNO.relative]) == 28


def test_paths_are_names(settings, tmp_path):
    odd = "jo s\u00e9 100% %20 {y} [z] * ?"
    home = tmp_path / "jo s\u00e9 {y} 100% *"
    own = settings.model_copy(update={"home": home})
    made = BatchedLake(own)
    made.ingest()
    made.demux(UNO)
    schema = pa.schema([("n", pa.int64()), ("day", pa.string())])
    rows = pa.table({"n": [1, 2, 3], "day": [odd, "a/b=c", None]}, schema=schema)
    write_deltalake(made.path(FISH).with_name("others"), rows, partition_by=["day"])
    made.committer.close()
    place = tmp_path / odd / "place"
    backed_up(own, place)
    elsewhere = settings.model_copy(update={"home": home.with_name("else where")})
    restored(elsewhere, place)
    assert rows_in(elsewhere) == rows_in(own)
    assert rows_in(elsewhere)["silver/others"] == [1, 2, 3]


@pytest.mark.usefixtures("lake")
def test_the_place_may_be_a_folder_that_is_moved(settings, place, elsewhere):
    backed_up(settings, place)
    moved = place.rename(place.with_name("moved"))
    assert place_at(moved).manifest().number == 1
    restored(elsewhere, moved)
    assert rows_in(elsewhere) == rows_in(settings)
