import pytest

from lake_assets.errors import LakeError
from lake_assets.settings.schema import Durability
from lake_assets.storage.durability import flush, sync_file


@pytest.mark.parametrize("durability", Durability)
def test_a_lake_can_be_flushed(tmp_path, durability):
    (tmp_path / "file").write_text("rows")
    flush(tmp_path, durability)
    sync_file(tmp_path / "file")


def test_a_folder_that_is_gone_is_an_error_of_the_lake(tmp_path):
    with pytest.raises(LakeError, match="does not reach the disk"):
        flush(tmp_path / "gone", Durability.POWER)


def test_without_durability_nothing_is_touched(tmp_path):
    flush(tmp_path / "gone", Durability.PROCESS)
