"""A folder of a disk as a place of files."""

from itertools import chain

import pytest

from lake_assets.sources.files import folder as module
from lake_assets.sources.files.listing import list_files
from lake_assets_tests.sources.files.folders import Folder, read
from lake_assets_tests.sources.files.place_contract import PlaceContract


class TestFolder(PlaceContract):
    """All that a place of files promises."""

    @pytest.fixture
    def folder(self, tmp_path):
        found = Folder(tmp_path)
        found.feed()
        return found


def test_a_file_that_a_folder_lists_twice_is_read_once(tmp_path, monkeypatch):
    """As one that is moved away and back while the folder is gone through."""
    folder = Folder(tmp_path)
    feed = folder.feed()
    folder.put("a", {"bpm": 1})
    monkeypatch.setattr(
        module, "list_files", lambda source: chain(list_files(source), list_files(source))
    )
    assert read(folder.reader(feed))["_file"].to_pylist() == ["a"]
