import io
import tarfile

import pytest
from deltalake import DeltaTable

from lake_assets.backup.log_archive import put_log, read_log, write_log
from lake_assets.delta.log_tail import last_checkpoint
from lake_assets.errors import LakeError
from lake_assets_tests.backup.lakes import UNO, BatchedLake
from lake_assets_tests.table_logs import local_log


@pytest.fixture
def log(settings):
    lake = BatchedLake(settings)
    for _ in range(25):
        lake.demux(UNO)
    lake.committer.close()
    return local_log(lake.path(UNO))


def archived(log, version):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        write_log(log, version, archive)
    return content.getvalue()


def checkpoints(names):
    return [int(name.split(".")[0]) for name in names if "checkpoint" in name and name[0] != "_"]


def test_what_is_of_later_versions_is_left_out(log):
    names = [name for name, _ in read_log(archived(log, 20))]
    assert max(int(name.split(".")[0]) for name in names if name[0] != "_") == 20
    assert checkpoints(names)
    assert len(names) == len(set(names))


def test_a_log_that_is_put_somewhere_reads_as_it_did(log, tmp_path):
    target = local_log(tmp_path / "there")
    put_log(target.store, target.folder, archived(log, 20))
    assert last_checkpoint(target)["version"] == max(checkpoints(target.names_from()))
    assert DeltaTable(tmp_path / "there").version() == 20
    for version in (0, 7, 20):
        assert target.commit(version) == log.commit(version)


def test_a_torn_checkpoint_is_not_the_one_that_is_named(log, tmp_path):
    newest = max(checkpoints(log.names_from()))
    file = log.file(f"{newest:020}.checkpoint.parquet").as_path()
    file.write_bytes(file.read_bytes()[:50])
    target = local_log(tmp_path / "there")
    put_log(target.store, target.folder, archived(log, 25))
    assert last_checkpoint(target) == {}


def test_parts_that_other_engines_keep_beside_come_along(log):
    beside = log.folder.as_path() / "_delta_log" / "_sidecars"
    beside.mkdir()
    (beside / "x.parquet").write_bytes(b"rows")
    (log.folder.as_path() / "_delta_log" / f"{3:020}.crc").write_text("{}")
    files = dict(read_log(archived(log, 10)))
    assert files["_sidecars/x.parquet"] == b"rows"
    assert files[f"{3:020}.crc"] == b"{}"


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b\x08torn"])
def test_what_is_no_archive_is_told(content):
    with pytest.raises(LakeError, match="Use another backup"):
        list(read_log(content))


def test_an_archive_cannot_write_elsewhere():
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name in ("../outside", "inside"):
            entry = tarfile.TarInfo(name)
            entry.size = 1
            archive.addfile(entry, io.BytesIO(b"x"))
    assert [name for name, _ in read_log(content.getvalue())] == ["inside"]
