import pytest

from lake_assets.state.backup_runs import note_run, own_runs


def test_runs_are_known_by_whoever_has_the_state_folder(tmp_path):
    assert own_runs(tmp_path) is None
    note_run(tmp_path, "first")
    note_run(tmp_path, "second")
    assert own_runs(tmp_path) == ("first", "second")


def test_the_newest_are_kept(tmp_path):
    for number in range(7):
        note_run(tmp_path, str(number), most=3)
    assert own_runs(tmp_path) == ("4", "5", "6")


@pytest.mark.parametrize("content", ["", "{", '{"a": 1}', "[1]", '"first"'])
def test_a_damaged_file_tells_of_none(tmp_path, content):
    (tmp_path / "backup_runs.json").write_text(content)
    assert own_runs(tmp_path) == ()
    note_run(tmp_path, "first")
    assert own_runs(tmp_path) == ("first",)
