"""`rebuild bronze` says what is read again, and what is not."""

import yaml

from lake_assets_tests.commandline import sparkless_here
from lake_assets_tests.sources.files.folders import Folder, read


def test_files_of_the_archive_are_told_not_to_be_read_again(settings, tmp_path):
    folder = Folder(tmp_path / "files")
    folder.root.mkdir()
    read(folder.reader())  # its lake is `lake` in its root, as the home's
    declared = {"path": str(folder.path), "format": "jsonl", "archive": "/done"}
    text = {"feed": "beats", "source": {"files": declared}, "reset": "allowed"}
    text |= {"payload": {"json": {"schema": "bpm int"}}}
    (folder.root / "beats.yaml").write_text(yaml.safe_dump(text))
    mine = settings.model_copy(update={"feeds": folder.root, "home": folder.root})
    told = sparkless_here(mine, "rebuild", "bronze", "--yes").stdout
    assert told.startswith("1 tables dropped; `lake-assets stream` reads files")
    assert "none that is in /done: move back what is to be read again" in told
