import json
import os
import subprocess
import sys

import pytest

from lake_assets.backup.scheduled import back_up_on_schedule, place_at, target_of
from lake_assets.errors import LakeError, SettingsError
from lake_assets.settings.upkeep import BackupSettings
from lake_assets.state.backup_hold import backup_turn
from lake_assets.state.backup_notes import note_of
from lake_assets_tests.backup.lakes import UNO

_NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
"""In which the test may make a small file system; who is not root becomes it there."""


@pytest.fixture
def wanted(settings, place):
    return settings.model_copy(update={"backup": BackupSettings(target=str(place), keep=1)})


def test_it_goes_to_the_target_and_as_many_stay_as_the_settings_say(lake, wanted):
    back_up_on_schedule(wanted)
    lake.demux(UNO)
    done = back_up_on_schedule(wanted)
    assert (done.manifest.number, done.progress.copied_files) == (2, 1)
    assert target_of(wanted).numbers() == [2]
    assert note_of(wanted.state_dir, wanted.backup.target).number == 2


@pytest.mark.usefixtures("lake")
def test_a_try_that_fails_is_noted_beside_the_last_good_one(wanted, place):
    back_up_on_schedule(wanted)
    with backup_turn(wanted.state_dir), pytest.raises(LakeError):
        back_up_on_schedule(wanted)
    noted = note_of(wanted.state_dir, str(place))
    assert (noted.number, "another backup or restore" in noted.why) == (1, True)


def test_without_a_target_that_is_said(settings):
    with pytest.raises(SettingsError, match="LAKE_ASSETS_BACKUP_TARGET: is not set"):
        back_up_on_schedule(settings)


def test_a_folder_may_be_named_from_where_one_is(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert str(place_at(settings, "kept")) == str(tmp_path / "kept")


@pytest.mark.usefixtures("lake")
def test_a_target_without_space_is_told_and_the_next_goes_on_from_what_is_there(wanted):
    command = [*_NAMESPACE, sys.executable, "-m", "lake_assets_tests.backup.full_target"]
    text = wanted.model_dump_json()
    done = subprocess.run(command, input=text, text=True, capture_output=True, check=False)  # noqa: S603 - our own program
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert "cannot be written (No space left on device). Free some space" in seen["problem"]
    assert seen["noted"] == seen["problem"]
    assert (seen["whole"], seen["number"], seen["wrong"]) == ([], 1, [])
