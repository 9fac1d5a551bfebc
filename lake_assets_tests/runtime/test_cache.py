import pytest

from lake_assets.errors import RuntimeSetupError
from lake_assets.runtime.cache import cache_dir


def test_the_folder_is_made(tmp_path):
    assert cache_dir(tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_is_named_with_its_setting(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RuntimeSetupError, match=r"file/x.*LAKE_ASSETS_RUNTIME_CACHE"):
        cache_dir(tmp_path / "file" / "x")
