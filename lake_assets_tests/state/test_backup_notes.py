import pytest

from lake_assets.state.backup_notes import BackupNote, note_failed, note_made, note_of, note_wanted


def test_of_a_place_that_nobody_has_used_nothing_is_noted(tmp_path):
    assert note_of(tmp_path, "/place") == BackupNote()


def test_a_place_is_wanted_since_it_was_first_seen(tmp_path):
    note_wanted(tmp_path, "/place", 5.0)
    note_wanted(tmp_path, "/place", 9.0)
    assert note_of(tmp_path, "/place") == BackupNote(wanted_since=5.0)


def test_a_failure_stays_until_a_backup_is_good_and_the_last_good_one_beside_it(tmp_path):
    note_made(tmp_path, "/place", 3, 10.0)
    note_failed(tmp_path, "/place", 20.0, "full")
    noted = note_of(tmp_path, "/place")
    assert (noted.number, noted.made_at, noted.failed_at, noted.why) == (3, 10.0, 20.0, "full")
    note_made(tmp_path, "/place", 4, 30.0)
    assert note_of(tmp_path, "/place") == BackupNote(number=4, made_at=30.0)


def test_each_place_has_its_own(tmp_path):
    note_made(tmp_path, "/place", 3, 10.0)
    note_wanted(tmp_path, "s3://other", 5.0)
    assert note_of(tmp_path, "/place").number == 3
    assert note_of(tmp_path, "s3://other").number is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"/place": 3}', "\xff"])
def test_what_cannot_be_read_is_as_if_it_were_not_there(tmp_path, text):
    (tmp_path / "backups.json").write_bytes(text.encode("latin-1"))
    assert note_of(tmp_path, "/place") == BackupNote()
    note_made(tmp_path, "/place", 3, 10.0)
    assert note_of(tmp_path, "/place").number == 3
