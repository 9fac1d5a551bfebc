"""Backups and restores of a lake in a bucket whose state is kept there, too."""

import shutil
from pathlib import Path

import pytest

from lake_assets.backup import create
from lake_assets.settings.schema import StorageSettings
from lake_assets.state.lake_id import lake_id
from lake_assets_tests.backup.lakes import backed_up, restored, rows_in
from lake_assets_tests.state.test_kept_state import kept, put


@pytest.fixture
def machine(settings, s3, bucket, tmp_path):
    """Settings of one lake by the machine, which is known by its home."""

    def made(home="one"):
        root = f"s3://{bucket}/lake"
        places = {"lake": Path(root), "state": Path(f"{root}/_state"), "home": tmp_path / home}
        storage = StorageSettings(options=s3.options)
        return settings.model_copy(update={**places, "storage": storage})

    return made


@pytest.mark.usefixtures("lake")
def test_a_backup_is_put_into_an_empty_bucket_and_its_state_is_kept(settings, place, machine):
    put(settings, "failing/games.json", "[]")
    backed_up(settings, place)
    here = machine()
    done = restored(here, place)
    assert rows_in(here) == rows_in(settings)
    assert done.lake_id == lake_id(here) == kept(here)["record"]["id"]
    assert kept(here)["files"] == {"failing/games.json": "[]"}


@pytest.mark.usefixtures("lake")
def test_machines_that_take_turns_back_up_into_one_place(settings, place, machine, tmp_path):
    backed_up(settings, place)
    first, second, own = machine(), machine("two"), tmp_path / "own"
    restored(first, place)
    assert [backed_up(one, own).number for one in (first, second, first)] == [1, 2, 3]


@pytest.mark.usefixtures("lake")
def test_a_machine_that_is_lost_once_its_backup_counts_has_another_go_on(
    settings, place, machine, tmp_path, monkeypatch
):
    backed_up(settings, place)
    first, own = machine(), tmp_path / "own"
    restored(first, place)
    with monkeypatch.context() as patch:
        patch.setattr(create, "note_made", die)
        with pytest.raises(KeyboardInterrupt):
            backed_up(first, own)
    shutil.rmtree(first.home)
    assert backed_up(machine("two"), own).number == 2


def die(*_: object) -> None:
    raise KeyboardInterrupt
