import json
import shutil
import signal
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest

from lake_assets.backup import restored_tables
from lake_assets.backup.create import back_up
from lake_assets.backup.place import BackupPlace
from lake_assets.backup.progress import Progress
from lake_assets.erasure.obeyed_restore import restore
from lake_assets.errors import ForeignStateError, LakeError, StreamsLockedError
from lake_assets.maintenance.run import maintain
from lake_assets.model.lake_uri import LakeUri
from lake_assets.silver.lost_rows import lost_rows, note_lost
from lake_assets.state.files import streams_lock
from lake_assets.state.lake_id import lake_id
from lake_assets.state.stream_stops import StreamStop, note_stop, stop_of
from lake_assets.storage.open_store import store_of
from lake_assets_tests.backup.lakes import (
    FISH,
    QUARANTINE,
    UNO,
    BatchedLake,
    backed_up,
    restored,
    rows_in,
)
from lake_assets_tests.backup.test_create import die_after
from lake_assets_tests.long_parameters import with_long
from lake_assets_tests.maintenance.lakes import SCHEMA
from lake_assets_tests.sample import GAMES


@pytest.mark.usefixtures("lake")
def test_a_lake_beside_the_one_that_lives_is_another_lake(settings, place, elsewhere):
    backed_up(settings, place)
    done = restored(elsewhere, place)
    assert done.is_other
    assert done.lake_id == lake_id(elsewhere) != lake_id(settings)


@pytest.mark.usefixtures("lake")
def test_a_lake_that_takes_the_place_of_one_that_is_gone_is_that_lake(settings, place):
    backed_up(settings, place)
    rows, id_ = rows_in(settings), lake_id(settings)
    shutil.rmtree(settings.lake_dir)
    done = restored(settings, place)
    assert (done.lake_id, done.is_other, lake_id(settings)) == (id_, False, id_)
    assert rows_in(settings) == rows


@pytest.mark.usefixtures("lake")
def test_a_lake_elsewhere_is_that_lake_if_the_first_is_gone(settings, place, elsewhere):
    backed_up(settings, place)
    id_ = lake_id(settings)
    shutil.rmtree(settings.home)
    assert restored(elsewhere, place).lake_id == id_ == lake_id(elsewhere)


def test_the_state_may_be_elsewhere_and_alive(settings, tmp_path, place):
    settings = settings.model_copy(update={"state": tmp_path / "state"})
    lake = BatchedLake(settings)
    lake.ingest()
    lake.demux(UNO)
    backed_up(settings, place)
    lake.committer.close()
    id_ = lake_id(settings)
    shutil.rmtree(settings.lake_dir)
    assert restored(settings, place).lake_id == id_


@pytest.mark.usefixtures("lake")
def test_the_state_of_another_lake_is_refused(settings, place, elsewhere, tmp_path):
    backed_up(settings, place)
    other = settings.model_copy(
        update={"home": tmp_path / "other", "state": tmp_path / "other state"}
    )
    lake_id(other)
    with pytest.raises(ForeignStateError):
        restored(elsewhere.model_copy(update={"state": other.state_dir}), place)
    assert not (elsewhere.lake_dir / "silver").exists()


def test_rows_are_replaced_only_if_that_is_said(settings, lake, place):
    backed_up(settings, place)
    rows, id_ = rows_in(settings), lake_id(settings)
    lake.demux(UNO, FISH)
    newer = rows_in(settings)
    with pytest.raises(LakeError, match=r"has rows or files already .* \(--force\)"):
        restored(settings, place)
    assert rows_in(settings) == newer
    assert restored(settings, place, force=True).lake_id == id_
    assert rows_in(settings) == rows
    assert not [path for path in settings.lake_dir.iterdir() if "re" in path.name]


@pytest.mark.usefixtures("lake")
def test_files_that_are_no_table_are_not_replaced_unasked(settings, place, elsewhere):
    backed_up(settings, place)
    thesis = elsewhere.lake_dir / UNO.relative / "thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("")
    with pytest.raises(LakeError, match=rf"has rows or files already \({UNO.relative}"):
        restored(elsewhere, place)
    assert thesis.exists()


def test_tables_that_came_after_the_backup_go_and_other_folders_stay(settings, lake, place):
    backed_up(settings, place)
    rows = rows_in(settings)
    new = UNO.__class__(layer=UNO.layer, name="silver_chess_events")
    lake.create(new, "chess")
    lake.demux(new)
    (settings.lake_dir / "silver" / "lost+found").mkdir()
    restored(settings, place, force=True)
    (settings.lake_dir / "silver" / "lost+found").rmdir()  # it was left
    assert rows_in(settings) == rows


@pytest.mark.usefixtures("lake")
def test_journals_and_notes_of_the_tables_that_gave_way_are_forgotten(settings, place):
    failing = settings.state_dir / "failing" / "games.json"
    failing.parent.mkdir(parents=True)
    failing.write_text("[]")
    backed_up(settings, place)
    failing.write_text("{later")
    notes = [
        settings.state_dir / name
        for name in ("journals/games-demux.json", "batches/games-demux.json", "refreshing/games.x")
    ]
    for note in notes:
        note.parent.mkdir()
        note.write_text("{}")
    restored(settings, place, force=True)
    assert not any(note.exists() for note in notes)
    assert failing.read_text() == "[]"


@pytest.mark.usefixtures("lake")
def test_a_stop_belongs_to_the_environment_and_not_to_the_backup(settings, place, elsewhere):
    backed_up(settings, place)
    stop = note_stop(settings.state_dir, GAMES.feed, StreamStop(by="ann", at=1.0))
    backed_up(settings, place)
    restored(settings, place, force=True)
    assert stop_of(settings.state_dir, GAMES.feed) == stop
    restored(elsewhere, place)
    assert stop_of(elsewhere.state_dir, GAMES.feed) is None


def test_a_requeue_that_was_cut_off_is_restored_as_it_was(settings, lake, place, elsewhere):
    row = pa.table({"n": [99], "text": ["x"]}, schema=SCHEMA)
    file = lake.file(UNO, row)
    journal = json.dumps(
        {"tables": [{"layer": "silver", "name": UNO.name, "files": [file.as_json]}]}
    )
    (lake.path(QUARANTINE) / "_change.json").write_text(journal)
    backed_up(settings, place)
    restored(elsewhere, place)
    assert (elsewhere.lake_dir / QUARANTINE.relative / "_change.json").read_text() == journal
    assert (elsewhere.lake_dir / UNO.relative / file.path).stat().st_size == file.size


@pytest.mark.usefixtures("lake")
def test_streams_that_run_are_not_replaced_under_their_feet(settings, place):
    backed_up(settings, place)
    with streams_lock(settings.state_dir), pytest.raises(StreamsLockedError):
        restored(settings, place, force=True)


@pytest.mark.parametrize("files", with_long([0, 3, 12, 24], long=[3, 12]))
def test_a_restore_that_was_killed_is_seen_and_can_be_run_again(settings, lake, place, files):
    backed_up(settings, place)
    rows, id_ = rows_in(settings), lake_id(settings)
    lake.demux(UNO, FISH)
    newer = rows_in(settings)
    assert die_after(settings, "restore", place, files) == -signal.SIGKILL
    assert rows_in(settings) == newer  # nothing gave way yet
    for use in (lambda: maintain(settings, GAMES), lambda: lake_id(settings)):
        with pytest.raises(LakeError, match="is being restored from a backup, or that was cut off"):
            use()
    assert restored(settings, place).lake_id == id_
    assert rows_in(settings) == rows
    maintain(settings, GAMES)


@pytest.mark.parametrize("moves", range(1, 11))
def test_a_restore_that_was_killed_while_tables_changed_places_comes_to_its_end(
    settings, lake, place, moves, monkeypatch
):
    backed_up(settings, place)
    rows = rows_in(settings)
    lake.demux(UNO, FISH)

    class KilledError(BaseException):
        pass

    go, left = restored_tables.move, [moves]

    def dying(source, target):
        left[0] -= 1
        if not left[0]:
            raise KilledError
        go(source, target)

    monkeypatch.setattr(restored_tables, "move", dying)
    with pytest.raises(KilledError):
        restored(settings, place, force=True)
    monkeypatch.undo()
    restored(settings, place)
    assert rows_in(settings) == rows


def test_another_backup_may_be_restored_after_one_that_was_killed(settings, lake, place):
    backed_up(settings, place)
    rows = rows_in(settings)
    lake.demux(UNO, FISH)
    backed_up(settings, place)
    assert die_after(settings, "restore", place, 12) == -signal.SIGKILL
    restored(settings, place, number=1)
    assert rows_in(settings) == rows


def test_another_backup_may_be_restored_after_one_that_was_killed_when_all_was_copied(
    settings, lake, place, monkeypatch
):
    backed_up(settings, place)
    rows = rows_in(settings)
    lake.ingest()
    lake.demux(UNO, FISH)
    note_lost(lake.store, ["games"], "silver_uno_events lacked files")
    (lake.path(QUARANTINE) / "_change.json").write_text("{}")
    backed_up(settings, place)

    class KilledError(BaseException):
        pass

    def die(*_):
        raise KilledError

    monkeypatch.setattr(restored_tables, "tables_in", die)
    with pytest.raises(KilledError):
        restored(settings, place, force=True)
    monkeypatch.undo()
    restored(settings, place, number=1)
    assert rows_in(settings) == rows
    assert lost_rows(lake.store, "games") == ""
    assert not (lake.path(QUARANTINE) / "_change.json").exists()


@pytest.mark.usefixtures("lake")
def test_a_backup_that_lacks_a_file_is_refused_before_anything_happens(settings, place):
    backed_up(settings, place)
    rows = rows_in(settings)
    next(place.glob("data/silver/**/*.parquet")).unlink()
    with pytest.raises(LakeError, match=r"backup 1 is not whole: .*parquet is missing"):
        restored(settings, place, force=True)
    assert rows_in(settings) == rows


@pytest.mark.usefixtures("lake")
def test_a_file_that_was_altered_in_the_place_is_not_put_into_a_lake(settings, place):
    backed_up(settings, place)
    rows = rows_in(settings)
    file = next(place.glob("data/silver/**/*.parquet"))
    file.write_bytes(bytes(file.stat().st_size))
    with pytest.raises(LakeError, match=rf"{file.name}: is gone, or not what was copied"):
        restored(settings, place, force=True)
    assert rows_in(settings) == rows


@pytest.mark.parametrize("damaged", ["backups/000001.json", "backups/000001-*/silver/*.json"])
@pytest.mark.usefixtures("lake")
def test_a_manifest_that_is_damaged_is_named(settings, place, elsewhere, damaged):
    backed_up(settings, place)
    file = next(place.glob(damaged))
    file.write_text(file.read_text()[:-20])
    with pytest.raises(LakeError, match=rf"{file.name}: is damaged"):
        restored(elsewhere, place)


@pytest.mark.usefixtures("lake")
def test_the_place_itself_does_not_become_a_lake(settings, place):
    backed_up(settings, place)
    with pytest.raises(LakeError, match="lies in the lake"):
        restored(settings.model_copy(update={"lake": place}), place)
    assert not (place / "silver").exists()


def test_tables_on_another_disk_are_refused_before_anything_happens(settings, lake, place):
    """They could not change places by a rename."""
    backed_up(settings, place)
    lake.demux(UNO)
    rows, silver = rows_in(settings), settings.lake_dir / "silver"
    with TemporaryDirectory(dir="/dev/shm") as other:
        shutil.move(silver, f"{other}/silver")
        silver.symlink_to(f"{other}/silver")
        assert silver.stat().st_dev != settings.lake_dir.stat().st_dev
        with pytest.raises(LakeError, match="silver: lies on another disk than"):
            restored(settings, place, force=True)
        assert rows_in(settings) == rows
        maintain(settings, GAMES)  # nothing says that a restore was begun


@pytest.mark.parametrize("linked", ["lake", "lake/silver", f"lake/{UNO.relative}"])
def test_links_to_folders_are_followed(settings, lake, place, elsewhere, tmp_path, linked):
    folder, away = settings.home / linked, tmp_path / "away"
    shutil.move(folder, away)
    folder.symlink_to(away)
    backed_up(settings, place)
    rows = rows_in(settings)
    lake.demux(UNO)
    restored(settings, place, force=True)
    restored(elsewhere, place)
    assert rows_in(settings) == rows_in(elsewhere) == rows


@pytest.mark.usefixtures("lake")
def test_what_is_no_place_and_what_has_no_such_backup_are_refused(settings, place, elsewhere):
    with pytest.raises(LakeError, match="is no place of backups"):
        restored(elsewhere, place)
    backed_up(settings, place)
    with pytest.raises(LakeError, match=r"has no backup 7. It has 1"):
        restored(elsewhere, place, number=7)


def test_a_place_may_be_in_a_bucket(settings, lake, elsewhere, s3, bucket):
    root = LakeUri.parse(f"s3://{bucket}/of/lake")
    place = BackupPlace(store_of(root, s3.options))
    back_up(settings, place, Progress())
    lake.demux(UNO)
    progress = Progress()
    assert back_up(settings, place, progress).number == 2
    assert progress.copied_files == 1
    restore(elsewhere, place, Progress(), number=None, force=False)
    assert rows_in(elsewhere) == rows_in(settings)
