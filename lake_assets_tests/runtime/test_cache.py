import pytest

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.cache import cache_dir, replace_file


def test_the_folder_is_made(tmp_path):
    assert cache_dir(tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_is_named_with_its_setting(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeSetupError, match=r"file/x.*LAKE_ASSETS_RUNTIME_CACHE"):
        cache_dir(tmp_path / "file" / "x")


def test_a_file_is_replaced_with_its_mode_and_nothing_else_stays(tmp_path):
    replace_file(tmp_path / "x", "old")
    replace_file(tmp_path / "x", "new", mode=0o755)
    assert (tmp_path / "x").read_text() == "new"
    assert (tmp_path / "x").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_file_that_cannot_be_written_is_an_error_of_ours(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeSetupError, match="cannot be written"):
        replace_file(tmp_path / "file" / "x", "text")
