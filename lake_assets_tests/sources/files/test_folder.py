"""A folder of a disk as a place of files."""

import pytest

from lake_assets_tests.sources.files.folders import Folder
from lake_assets_tests.sources.files.place_contract import PlaceContract


class TestFolder(PlaceContract):
    """All that a place of files promises."""

    @pytest.fixture
    def folder(self, tmp_path):
        found = Folder(tmp_path)
        found.feed()
        return found
