import os

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import LakeError
from lake_assets.model.lake_uri import LakeUri
from lake_assets.settings.schema import Durability
from lake_assets.storage.local import LocalStore, put_new_file
from lake_assets_tests.programs import run_program
from lake_assets_tests.storage.contract import Place, StoreContract


@pytest.fixture
def place(tmp_path):
    folder = LakeUri.local(tmp_path)
    return Place(LocalStore(folder), folder)


class TestLocalStore(StoreContract):
    """All that a store promises."""


class TestLocalStoreThatListsInPages(StoreContract):
    """As for a folder of more names than are held at once."""

    @pytest.fixture
    def place(self, tmp_path):
        folder = LakeUri.local(tmp_path)
        return Place(LocalStore(folder, page=3), folder)


def test_a_put_leaves_nothing_beside_the_file(tmp_path):
    file = tmp_path / "0.json"
    assert put_new_file(str(file), b"first")
    assert not put_new_file(str(file), b"second")
    assert list(tmp_path.iterdir()) == [file]


def test_a_put_whose_answer_a_file_server_lost_is_known_as_our_own(tmp_path, monkeypatch):
    """NFS asks again, and is told that the name is taken: by what it made."""
    file, link = tmp_path / "0.json", os.link

    def link_twice(*given):
        link(*given)
        link(*given)

    monkeypatch.setattr(os, "link", link_twice)
    assert put_new_file(str(file), b"first")
    monkeypatch.undo()
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"first", [file])


def test_a_put_that_is_second_at_the_last_moment_is_told_so(tmp_path, monkeypatch):
    file, link = tmp_path / "0.json", os.link

    def be_second(*given):
        file.write_bytes(b"another's")
        link(*given)

    monkeypatch.setattr(os, "link", be_second)
    assert not put_new_file(str(file), b"ours")
    assert (file.read_bytes(), list(tmp_path.iterdir())) == (b"another's", [file])


def test_what_a_killed_writer_leaves_is_deleted_with_a_table_s_unused_files(place, tmp_path):
    write_deltalake(tmp_path, pa.table({"a": [1]}))
    before = {path.name for path in tmp_path.iterdir()}
    with place.store.open_for_writing(place.folder / "part.parquet"):
        (staged,) = {path.name for path in tmp_path.iterdir()} - before
        unused = DeltaTable(tmp_path).vacuum(
            retention_hours=0, enforce_retention_duration=False, dry_run=True, full=True
        )
    assert unused == [staged]
    assert {path.name for path in tmp_path.iterdir()} - before == {"part.parquet"}


def test_a_log_that_is_not_there_is_not_made(place, tmp_path):
    with pytest.raises(LakeError, match=r"none/0\.json: cannot be written .* Make its folder"):
        place.store.put_if_absent(place.folder / "none/0.json", b"text")
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_a_folder_should_be_is_an_error(place):
    place.put("file")
    below = place.folder / "file/below"
    uses = (
        lambda: place.store.put_if_absent(below, b""),
        lambda: place.store.get(below),
        lambda: place.store.make_folder(below),
        lambda: list(place.store.list_from(place.folder / "file")),
        lambda: place.store.open_for_writing(below).__enter__(),
    )
    for use in uses:
        with pytest.raises(LakeError, match="Check the folder and the disk"):
            use()
    assert place.store.stat(below) is None


def test_what_cannot_be_deleted_or_replaced_is_told(place, tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(LakeError, match="folder: cannot be deleted"):
        place.store.delete(place.folder / "folder")
    with (
        pytest.raises(LakeError, match="folder: cannot be written"),
        place.store.open_for_writing(place.folder / "folder") as stream,
    ):
        stream.write(b"x")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_names_may_be_as_long_as_the_disk_has_them(place):
    file = place.folder / ("n" * 255)
    with place.store.open_for_writing(file) as stream:
        stream.write(b"one")
    assert not place.store.put_if_absent(file, b"two")
    assert place.store.get(file) == b"one"


def test_a_flush_of_a_folder_that_is_gone_is_an_error_unless_none_is_asked_for(place):
    gone = place.folder / "gone"
    with pytest.raises(LakeError, match="does not reach the disk"):
        LocalStore(gone).flush()
    LocalStore(gone, Durability.PROCESS).flush()


_ON_A_SMALL_DISK = """
import subprocess, sys
from pathlib import Path
from lake_assets.errors import LakeError
from lake_assets.storage.local import LocalStore
from lake_assets.model.lake_uri import LakeUri
folder = Path(sys.argv[1])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
store, root = LocalStore(LakeUri.local(folder)), LakeUri.local(folder)

def told(use):
    try:
        use()
    except LakeError as problem:
        print(str(problem).replace(str(folder), "LAKE"))
    else:
        print("nothing")

def write():
    with store.open_for_writing(root / "big") as stream:
        for _ in range(64):
            stream.write(bytes(65536))

told(lambda: store.put_if_absent(root / "big", bytes(4_000_000)))
told(write)
print(sorted(path.name for path in folder.iterdir()))
assert store.put_if_absent(root / "small", b"x")
subprocess.run(["mount", "-o", "remount,ro", folder], check=True)
told(lambda: store.put_if_absent(root / "other", b"x"))
told(write)
told(lambda: store.delete(root / "small"))
told(lambda: store.make_folder(root / "folder"))
print(store.get(root / "small"))
"""


def test_a_folder_that_is_a_link_goes_with_what_it_leads_to(tmp_path):
    elsewhere = tmp_path / "other disk" / "table"
    elsewhere.mkdir(parents=True)
    (elsewhere / "file").write_text("x")
    store = LocalStore.at(tmp_path / "lake")
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "table").symlink_to(elsewhere)
    store.delete_folder(store.root / "table")
    assert not elsewhere.exists()
    assert list((tmp_path / "lake").iterdir()) == []


def test_what_cannot_be_deleted_of_another_folder_is_told_and_holds_up_none(tmp_path, caplog):
    store = LocalStore.at(tmp_path)
    (tmp_path / ".left.dropped").write_text("no folder")
    (tmp_path / "table" / "deep").mkdir(parents=True)
    store.delete_folder(store.root / "table")
    assert [path.name for path in tmp_path.iterdir()] == [".left.dropped"]
    assert ".left.dropped is left of a folder that was deleted" in caplog.text


def test_a_link_that_leads_in_a_circle_is_no_folder(tmp_path):
    (tmp_path / "circle").symlink_to("circle")
    (tmp_path / "table").mkdir()
    store = LocalStore.at(tmp_path)
    assert store.folders(store.root) == ["table"]


def test_a_full_disk_and_a_read_only_one_are_told(tmp_path):
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
    said = run_program(_ON_A_SMALL_DISK, [str(tmp_path)], through=namespace).splitlines()
    full = "(No space left on device). Free some space on its disk"
    fixed = "(Read-only file system). Mount its disk for writing, or name another folder"
    assert said == [
        f"LAKE/big: cannot be written {full}",
        f"LAKE/big: cannot be written {full}",
        "[]",
        f"LAKE/other: cannot be written {fixed}",
        f"LAKE/big: cannot be written {fixed}",
        f"LAKE/small: cannot be deleted {fixed}",
        f"LAKE/folder: cannot be made {fixed}",
        "b'x'",
    ]
