import shutil
from contextlib import contextmanager

import pytest

from lake_assets.backup.create import back_up
from lake_assets.backup.progress import Progress
from lake_assets.errors import LakeError
from lake_assets.state.backup_notes import note_made
from lake_assets.state.backup_runs import own_runs
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.backup.lakes import UNO, backed_up, place_at, restored

TOLD = r"its newest backup 1 \(of 20.*\) was made by another copy of this lake.*--take-over"


@contextmanager
def away(settings):
    """What another machine sees of a lake: nothing."""
    hidden = settings.home.with_name("hidden")
    settings.home.rename(hidden)
    yield
    hidden.rename(settings.home)


def restored_on_another_machine(settings, place, elsewhere):
    with away(settings):
        done = restored(elsewhere, place)
    assert done.lake_id == lake_id(elsewhere) == lake_id(settings)
    return done


def taken_over(settings, place):
    return back_up(settings, place_at(place), Progress(), take_over=True)


def contents(place):
    return {str(file.relative_to(place)) for file in place.rglob("*") if file.is_file()}


@pytest.mark.usefixtures("lake")
def test_a_lake_that_was_restored_elsewhere_leaves_the_place_as_it_is(settings, place, elsewhere):
    backed_up(settings, place)
    assert not restored_on_another_machine(settings, place, elsewhere).is_backed_up_here
    before = contents(place)
    with pytest.raises(LakeError, match=TOLD):
        backed_up(elsewhere, place)
    assert contents(place) == before
    assert backed_up(settings, place).number == 2


@pytest.mark.usefixtures("lake")
def test_what_the_other_one_has_under_way_is_left(settings, place, elsewhere):
    backed_up(settings, place)
    restored_on_another_machine(settings, place, elsewhere)
    stray = place / "backups/000002-theirs"
    stray.mkdir()
    with pytest.raises(LakeError, match="another copy"):
        backed_up(elsewhere, place)
    assert stray.exists()


@pytest.mark.usefixtures("lake")
def test_who_takes_a_place_over_has_it_and_the_other_is_refused(settings, place, elsewhere):
    backed_up(settings, place)
    restored_on_another_machine(settings, place, elsewhere)
    assert taken_over(elsewhere, place).number == 2
    assert backed_up(elsewhere, place).number == 3
    with pytest.raises(LakeError, match="its newest backup 3 "):
        backed_up(settings, place)


@pytest.mark.usefixtures("lake")
def test_a_copy_with_its_state_is_found_out_by_the_next_backup(settings, place, elsewhere):
    backed_up(settings, place)
    shutil.copytree(settings.home, elsewhere.home)
    with away(settings):
        assert backed_up(elsewhere, place).number == 2
    with pytest.raises(LakeError, match="its newest backup 2 "):
        backed_up(settings, place)


def test_a_restore_in_place_goes_on_in_its_place(settings, lake, place):
    for _ in range(2):
        backed_up(settings, place)
        lake.demux(UNO)
    for number in (None, 1):
        assert restored(settings, place, number=number, force=True).is_backed_up_here
        backed_up(settings, place)
    assert place_at(place).numbers() == [1, 2, 3, 4]


@pytest.mark.usefixtures("lake")
def test_a_place_that_is_found_elsewhere_or_copied_is_known(settings, place, tmp_path):
    backed_up(settings, place)
    place.rename(tmp_path / "moved")
    assert backed_up(settings, tmp_path / "moved").number == 2
    shutil.copytree(tmp_path / "moved", tmp_path / "copied")
    assert backed_up(settings, tmp_path / "copied").number == 3


@pytest.mark.usefixtures("lake")
def test_the_newest_one_may_be_deleted(settings, place):
    for _ in range(2):
        last = backed_up(settings, place)
    place_at(place).manifest_file(last.number).as_path().unlink()
    assert backed_up(settings, place).number == 2


@pytest.mark.usefixtures("lake")
def test_a_process_that_dies_after_its_backup_counts_is_known(settings, place, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("lake_assets.backup.create.note_made", die)
        with pytest.raises(KeyboardInterrupt):
            backed_up(settings, place)
    assert backed_up(settings, place).number == 2


@pytest.mark.usefixtures("lake")
def test_backups_of_releases_that_noted_numbers_alone_are_known(settings, place):
    backed_up(settings, place)
    (settings.state_dir / "backup_runs.json").unlink()
    assert backed_up(settings, place).number == 2
    assert len(own_runs(settings.state_dir)) == 1


@pytest.mark.usefixtures("lake")
def test_so_are_those_of_each_of_two_places(settings, place, tmp_path):
    other = tmp_path / "other"
    for _ in range(2):
        backed_up(settings, place)
    backed_up(settings, other)
    (settings.state_dir / "backup_runs.json").unlink()
    assert backed_up(settings, place).number == 3
    assert backed_up(settings, other).number == 2


@pytest.mark.usefixtures("lake")
def test_so_is_one_after_which_the_first_with_a_run_was_cut_off(settings, place, monkeypatch):
    def die(*_):
        raise KeyboardInterrupt

    backed_up(settings, place)
    (settings.state_dir / "backup_runs.json").unlink()
    with monkeypatch.context() as patched:
        patched.setattr("lake_assets.backup.place_turn.PlaceTurn.end", die)
        with pytest.raises(KeyboardInterrupt):
            backed_up(settings, place)
    assert backed_up(settings, place).number == 2


@pytest.mark.usefixtures("lake")
def test_a_number_alone_is_no_proof(settings, place, elsewhere):
    """Both copies' second backups have the number 2; ours was deleted, and theirs is there."""
    backed_up(settings, place)
    restored_on_another_machine(settings, place, elsewhere)
    last = backed_up(settings, place)
    place_at(place).manifest_file(last.number).as_path().unlink()
    with away(settings):
        taken_over(elsewhere, place)
    (settings.state_dir / "backup_runs.json").unlink()
    note_made(settings.state_dir, str(place), last.number, last.made_at_s - 60)  # of the first one
    with pytest.raises(LakeError, match="its newest backup 2 "):
        backed_up(settings, place)


@pytest.mark.usefixtures("lake")
def test_notes_that_are_lost_are_asked_for(settings, place):
    backed_up(settings, place)
    (settings.state_dir / "backup_runs.json").write_text("{torn")
    (settings.state_dir / "backups.json").unlink()
    with pytest.raises(LakeError, match=TOLD):
        backed_up(settings, place)
    taken_over(settings, place)
    assert backed_up(settings, place).number == 3
