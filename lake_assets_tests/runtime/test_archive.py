import tarfile
from pathlib import Path

import pytest

from lake_assets.runtime.archive import is_intact, unpack


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    (source / "lib").mkdir(parents=True)
    (source / "run.jar").write_text("run")
    (source / "lib" / "a b.jar").write_text("lib")
    path = tmp_path / "staging" / "app.tar.gz"
    path.parent.mkdir()
    with tarfile.open(path, "w:gz") as tar:
        tar.add(source, arcname="")
    return path


def test_an_unpacked_archive_is_intact(archive, tmp_path):
    unpack(archive, tmp_path / "cache" / "app")
    assert (tmp_path / "cache" / "app" / "lib" / "a b.jar").read_text() == "lib"
    assert is_intact(tmp_path / "cache" / "app")


def test_nothing_is_not_intact(tmp_path):
    assert not is_intact(tmp_path / "app")


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("bad")])
def test_a_missing_or_changed_file_is_noticed_and_mended(archive, tmp_path, harm):
    app = tmp_path / "app"
    unpack(archive, app)
    harm(app / "lib" / "a b.jar")
    assert not is_intact(app)
    unpack(archive, app)
    assert is_intact(app)
