import shutil

import pytest

from lake_assets.backup.kept_erasures import ledger_at
from lake_assets.model.erasures import ErasureState
from lake_assets.state.backup_hold import backup_turn
from lake_assets.state.backup_notes import forget as forget_place
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.backup.lakes import backed_up, place_at, restored
from lake_assets_tests.erasure.bytes_of_everything import files_of, holders
from lake_assets_tests.erasure.lakes import PeopledLake, forget

ANN, BOB = "ann-7f3a-41c0", "bob-11aa-90ee"


@pytest.fixture
def place(tmp_path):
    return tmp_path / "place"


@pytest.fixture
def lake(settings):
    made = PeopledLake(settings)
    made.take(ANN, BOB, BOB, refused=f"bad {ANN}")
    yield made
    made.committer.close()


def known_in(settings, place):
    return [one.state for one in ledger_at(place_at(place).store, settings).read().every]


def test_older_backups_keep_an_erasure_from_being_done(settings, lake, place):
    first, second = (backed_up(settings, place) for _ in range(2))
    done = lake.forget(ANN)
    (words,) = done.left
    assert f"(1 of {first.made_at}, 2 of {second.made_at})" in words
    assert "--prune-backups" in words
    assert [one.state for one in done.erasures] == [ErasureState.ENDED]
    assert known_in(settings, place) == [ErasureState.ENDED]
    backed_up(settings, place)  # has nothing of it
    assert "3 of" not in lake.forget(ANN).left[0]


def test_they_make_way_for_a_new_one_if_that_is_asked(settings, lake, place):
    backed_up(settings, place)
    lake.take(BOB, ANN)
    backed_up(settings, place)
    assert lake.forget(ANN).left
    assert holders(files_of(place), ANN)
    done = lake.forget(ANN, prunes_backups=True)
    assert done.left == []
    assert [one.state for one in done.erasures] == [ErasureState.DONE]
    assert place_at(place).numbers() == [3]
    assert holders(files_of(place), ANN) == []
    assert place_at(place).manifest().tables


def test_one_that_was_made_after_is_left_alone(settings, lake, place):
    assert lake.forget(ANN).left == []
    backed_up(settings, place)
    assert lake.forget(BOB, prunes_backups=True).left == []
    assert place_at(place).numbers() == [2]
    assert lake.forget(ANN, prunes_backups=True).left == []
    assert place_at(place).numbers() == [2]


def test_nothing_makes_way_while_rows_may_be_left(settings, lake, place, monkeypatch):
    from lake_assets.erasure import run

    backed_up(settings, place)
    monkeypatch.setattr(run, "await_demux", lambda *_, **__: ["rows are not in silver yet"])
    assert len(lake.forget(ANN, prunes_backups=True).left) == 2
    assert place_at(place).numbers() == [1]


def test_a_place_that_cannot_be_reached_is_told_until_it_is_or_is_forgotten(settings, lake, place):
    backed_up(settings, place)
    shutil.rmtree(place)
    place.mkdir()  # nothing is mounted there
    (words,) = lake.forget(ANN).left
    assert words.startswith(f"backups in {place} do not know of it")
    assert forget_place(settings.state_dir, str(place))
    assert not forget_place(settings.state_dir, str(place))
    done = lake.forget(ANN)
    assert done.left == []
    assert [one.state for one in done.erasures] == [ErasureState.DONE]


def test_a_backup_that_is_under_way_may_have_the_rows(settings, lake, place):
    backed_up(settings, place)
    with backup_turn(settings.state_dir):
        (words,) = lake.forget(ANN).left
    assert "another backup or restore of this lake is under way" in words


def test_a_copy_has_the_erasures_and_leaves_the_backups_of_the_original_alone(
    settings, lake, place, tmp_path
):
    lake.forget(ANN)
    backed_up(settings, place)
    shutil.copytree(settings.home, tmp_path / "copy")
    copy = settings.model_copy(update={"home": tmp_path / "copy"})
    assert lake_id(copy) != lake_id(settings)
    own = ledger_at(place_at(copy.lake_dir).store, copy)
    assert len(own.read().every) == 1
    assert forget(copy, BOB, prunes_backups=True).left == []
    assert len(own.read().every) == 2
    assert len(known_in(settings, place)) == 1
    assert place_at(place).numbers() == [1]


@pytest.mark.usefixtures("lake")
def test_places_of_another_copy_are_told_of(settings, place, tmp_path):
    backed_up(settings, place)
    other = settings.model_copy(update={"home": tmp_path / "other"})
    shutil.move(settings.home, tmp_path / "away")
    restored(other, place)
    from lake_assets.backup.create import back_up
    from lake_assets.backup.progress import Progress

    back_up(other, place_at(place), Progress(), take_over=True)
    shutil.rmtree(other.home)
    shutil.move(tmp_path / "away", settings.home)
    (words,) = forget(settings, ANN, prunes_backups=True).left
    assert "was made by another copy of this lake" in words
    assert place_at(place).numbers() == [1, 2]
