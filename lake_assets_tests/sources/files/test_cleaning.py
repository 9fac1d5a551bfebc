"""Files leave their folder once bronze has them, and not before; bronze here is its log alone."""

import errno
import os

import pyarrow as pa
import pytest

from lake_assets.errors import SourceNotFoundError
from lake_assets.sources.files import stream
from lake_assets.sources.files.cleaning import clean
from lake_assets.sources.files.folder import Folder as Place
from lake_assets.sources.files.index import entries_from
from lake_assets.sources.files.reading import COLUMNS
from lake_assets_tests.sources.files.folders import Folder, read, told
from lake_assets_tests.sources.files.recorded import record


@pytest.fixture
def folder(tmp_path):
    found = Folder(tmp_path)
    found.feed()
    return found


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("way", ["archive", "delete"])
def test_files_leave_when_bronze_has_all_of_their_rows(folder, way):
    archive = folder.root / "done"
    feed = folder.feed(**({"archive": str(archive)} if way == "archive" else {"delete": True}))
    for number, name in enumerate(("a", "b")):
        os.utime(folder.put(name, {"bpm": 1}, {"bpm": 2}), (number, number))
    read(folder.reader(feed))
    assert names(folder.path) == ["a", "b"]  # bronze has nothing of them
    record(folder.lake, 3, 1)  # and then half of b
    read(folder.reader(feed, start=3))
    assert names(folder.path) == ["b"]
    record(folder.lake, 4, 2)
    read(folder.reader(feed, start=4))
    assert names(folder.path) == []
    if way == "archive":
        assert names(archive) == ["a", "b"]
        # A RESTORE of bronze asks for them again.
        again = told(read(folder.reader(feed, start=1)), "_file", "_row", "value")
        assert again == [
            ("a", 2, b'{"bpm": 2}'),
            ("b", 1, b'{"bpm": 1}'),
            ("b", 2, b'{"bpm": 2}'),
        ]


def test_a_file_that_changed_since_it_was_found_stays(folder):
    feed = folder.feed(delete=True)
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    folder.put("a", {"bpm": 1}, {"bpm": 2})
    record(folder.lake, 1, 1)
    read(folder.reader(feed, start=1))
    assert names(folder.path) == ["a"]


def test_a_file_that_could_not_be_read_is_not_deleted(folder):
    feed = folder.feed(delete=True)
    folder.put("a", {"bpm": 1})
    folder.put("b.gz", b"no gzip")
    assert read(folder.reader(feed)).num_rows == 2
    record(folder.lake, 2, 1)
    read(folder.reader(feed, start=2))
    assert names(folder.path) == ["b.gz"]


def test_a_name_that_is_taken_in_the_archive_gets_its_offset(folder):
    feed = folder.feed(archive=str(folder.root / "done"))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    (folder.root / "done").mkdir(exist_ok=True)
    (folder.root / "done" / "a").write_bytes(b"of before")
    record(folder.lake, 1, 1)
    read(folder.reader(feed, start=1))
    assert names(folder.root / "done") == ["a", "a.0"]
    rows = read(folder.reader(feed, start=0))
    assert rows["value"].to_pylist() == [b'{"bpm": 1}']


def test_what_the_archive_has_is_never_overwritten(folder):
    feed = folder.feed(archive=str(folder.root / "done"))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    (folder.root / "done").mkdir(exist_ok=True)
    for name in ("a", "a.0"):
        (folder.root / "done" / name).write_bytes(name.encode())
    entries = entries_from(folder.lake, "beats", 0, 9)
    assert clean(Place(feed.source.files), entries) == 0
    assert (folder.root / "done" / "a.0").read_bytes() == b"a.0"
    assert names(folder.path) == ["a"]


def test_a_file_that_may_not_be_moved_is_not_copied(folder, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    feed = folder.feed(archive=str(folder.root / "done"))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    monkeypatch.setattr("os.rename", refuse)
    entries = entries_from(folder.lake, "beats", 0, 9)
    assert clean(Place(feed.source.files), entries) == 0
    assert names(folder.root / "done") == []
    assert names(folder.path) == ["a"]


def test_more_empty_files_leave_than_are_known_at_once(folder, monkeypatch):
    feed = folder.feed(delete=True)
    for number in range(12):
        os.utime(folder.put(f"empty{number}"), (number, number))
    folder.put("rows", {"bpm": 1})
    read(folder.reader(feed))
    monkeypatch.setattr(stream, "_CLEANED", 5)
    record(folder.lake, 1, 1)
    read(folder.reader(feed, start=1))
    assert names(folder.path) == []


def test_a_file_goes_to_another_disk_whole(folder, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EXDEV, "another disk")

    feed = folder.feed(archive=str(folder.root / "done"))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    monkeypatch.setattr("os.rename", refuse)
    entries = entries_from(folder.lake, "beats", 0, 9)
    assert clean(Place(feed.source.files), entries) == 1
    assert names(folder.root / "done") == ["a"]
    assert names(folder.path) == []


def test_what_cannot_leave_is_tried_again(folder):
    feed = folder.feed(archive=str(folder.root / "done"))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    (folder.root / "done").rmdir()
    (folder.root / "done").touch()  # no folder
    entries = entries_from(folder.lake, "beats", 0, 9)
    assert clean(Place(feed.source.files), entries) == 0
    (folder.root / "done").unlink()
    assert clean(Place(feed.source.files), entries) == 1


def test_columns_are_as_bronze_has_them():
    assert [field.name for field in COLUMNS][:2] == ["value", "listing"]
    assert COLUMNS.field("_file").type == pa.string()


def test_a_link_in_the_archive_leads_to_the_same_file(folder):
    outside, archive = folder.root / "outside", folder.root / "deep" / "done"
    archive.parent.mkdir()
    folder.put("a", {"bpm": 1}).rename(outside)
    (folder.path / "a").symlink_to("../outside")
    feed = folder.feed(archive=str(archive))
    assert read(folder.reader(feed)).num_rows == 1
    record(folder.lake, 1, 1)
    read(folder.reader(feed, start=1))
    assert (names(folder.path), names(archive)) == ([], ["a"])
    assert (archive / "a").samefile(outside)
    assert told(read(folder.reader(feed)), "value", "_problem") == [(b'{"bpm": 1}', None)]


def test_an_archive_is_made_for_the_first_files_and_never_above_a_folder_that_is_away(
    folder, caplog
):
    archive = folder.root / "mount" / "done"
    feed = folder.feed(archive=str(archive))
    folder.put("a", {"bpm": 1})
    read(folder.reader(feed))
    record(folder.lake, 1, 1)
    read(folder.reader(feed, start=1))
    assert names(folder.path) == ["a"]
    assert not archive.parent.exists()
    assert "make it, or mount it" in caplog.text
    archive.parent.mkdir()
    folder.put("b", {"bpm": 2})
    read(folder.reader(feed, start=1))
    assert (names(folder.path), names(archive)) == (["b"], ["a"])
    record(folder.lake, 2, 2)
    away = archive.parent.rename(folder.root / "away")
    archive.parent.mkdir()  # where its disk is not mounted
    read(folder.reader(feed, start=2))
    assert (names(folder.path), names(archive.parent)) == (["b"], [])
    with pytest.raises(SourceNotFoundError, match="done: does not exist"):
        read(folder.reader(feed))  # as after a RESTORE of bronze: the archive is not lost
    archive.parent.rmdir()
    away.rename(archive.parent)
    read(folder.reader(feed, start=2))
    assert (names(folder.path), names(archive)) == ([], ["a", "b"])
    assert read(folder.reader(feed))["_problem"].null_count == 2


def test_files_leave_for_as_long_as_they_may_and_the_others_later(folder):
    feed = folder.feed(delete=True)
    for name in "abc":
        folder.put(name, {"bpm": 1})
    read(folder.reader(feed))
    entries = entries_from(folder.lake, "beats", 0, 9)
    assert clean(Place(feed.source.files), entries, for_s=0) == 0
    assert folder.names() == ["a", "b", "c"]
    assert clean(Place(feed.source.files), entries) == 3
    assert folder.names() == []
