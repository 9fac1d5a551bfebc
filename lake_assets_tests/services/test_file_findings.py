"""What the doctor says of folders of files."""

import pytest
import yaml

from lake_assets.services.file_findings import look_at_files
from lake_assets.services.finding import Health
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sources.files.folders import Folder, read


class InLake(Folder):
    """A folder whose lake is that of some settings."""

    lake_dir = None

    @property
    def lake(self):
        return LocalStore.at(self.lake_dir)


@pytest.fixture
def folder(tmp_path, settings):
    found = InLake(tmp_path)
    found.lake_dir = settings.lake_dir
    found.feed()
    return found


def findings(folder, settings):
    feeds = folder.root / "feeds"
    feeds.mkdir(exist_ok=True)
    declared = {"files": {"path": str(folder.path), "format": "jsonl", "settle": "0s"}}
    feed = {"feed": "beats", "source": declared, "payload": {"json": {"schema": "bpm int"}}}
    (feeds / "beats.yaml").write_text(yaml.safe_dump(feed))
    found = look_at_files(settings.model_copy(update={"feeds": feeds}))
    return [(finding.health, finding.fact) for finding in found]


def test_files_that_were_found_are_counted_and_bad_ones_told(folder, settings):
    assert findings(folder, settings) == [(Health.OK, f"{folder.path}/*: 0 found")]
    folder.put("a", {"bpm": 1})
    (folder.path / "b.gz").write_bytes(b"no gzip")
    read(folder.reader())
    ((health, fact),) = findings(folder, settings)
    assert health is Health.OK
    assert "2 found, 1 of them could not be read" in fact


def test_files_that_changed_are_named(folder, settings):
    path = folder.put("a", {"bpm": 1})
    read(folder.reader())
    with path.open("ab") as file:
        file.write(b"{}\n")
    read(folder.reader(start=1))
    _, (health, fact) = findings(folder, settings)
    assert health is Health.LATER
    assert "a (grown)" in fact


def test_a_folder_that_is_not_there_is_told(folder, settings):
    folder.path.rmdir()
    assert findings(folder, settings) == [
        (Health.LATER, f"folder {folder.path} does not exist"),
    ]
