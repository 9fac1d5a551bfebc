import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.crash_recovery import recover_after_crash
from lake_assets.errors import LakeError
from lake_assets.model.tables import Layer, TableRef
from lake_assets.storage.local import LocalStore
from lake_assets_tests.programs import run_program
from lake_assets_tests.table_logs import commit_file

TABLE = TableRef(layer=Layer.SILVER, name="silver_uno_events")
ROWS = pa.schema([("n", pa.int64())])


@pytest.fixture
def folder(committer, land, tmp_path):
    """A table of three commits with a row each."""
    committer.create({TABLE: ROWS})
    for number in (1, 2, 3):
        committer.append([land(TABLE, pa.table({"n": [number]}, ROWS))], Batch("demux", number))
    committer.settle()
    return tmp_path / TABLE.relative


@pytest.fixture
def recover(tmp_path):
    """Looks at the lake after another start of the machine."""
    boots = iter(range(10))
    return lambda: recover_after_crash(
        LocalStore.at(tmp_path), tmp_path / "_state", f"boot {next(boots)}"
    )


def values(folder):
    return sorted(DeltaTable(folder).to_pyarrow_table()["n"].to_pylist())


def damage(path, how):
    path.write_bytes({"empty": b"", "torn": path.read_bytes()[:-30]}[how])


def test_a_whole_lake_stays_as_it_is(folder, recover):
    assert recover() == []
    assert values(folder) == [1, 2, 3]


@pytest.mark.parametrize("how", ["empty", "torn"])
def test_a_newest_commit_that_is_not_whole_is_set_aside(folder, recover, tmp_path, how):
    damage(commit_file(folder, 3), how)
    (found,) = recover()
    assert (found.table, found.file) == (TABLE, commit_file(folder, 3).name)
    assert values(folder) == [1, 2]
    assert (tmp_path / "_state" / "torn" / "silver" / TABLE.name / found.file).exists()


_ON_TWO_DISKS = """
import subprocess, sys
from pathlib import Path
from lake_assets.delta.crash_recovery import recover_after_crash
from lake_assets.storage.local import LocalStore
lake, state = map(Path, sys.argv[1:])
state.mkdir()
subprocess.run(["mount", "-t", "tmpfs", "none", state], check=True)
(found,) = recover_after_crash(LocalStore.at(lake), state, "another boot")
print((state / "torn" / found.table.relative / found.file).read_bytes())
"""


def test_what_was_torn_is_set_aside_on_another_disk_too(folder, tmp_path):
    damage(commit_file(folder, 3), "empty")
    namespace = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "-r"]
    folders = [str(tmp_path), str(tmp_path / "_state")]
    assert run_program(_ON_TWO_DISKS, folders, through=namespace).strip() == "b''"
    assert values(folder) == [1, 2]


def test_what_was_set_aside_is_built_upon_by_nobody(folder, recover, committer, land):
    damage(commit_file(folder, 3), "empty")
    recover()
    committer.append([land(TABLE, pa.table({"n": [3]}, ROWS))], Batch("demux", 3))
    assert values(folder) == [1, 2, 3]


def test_several_newest_commits_are_set_aside(folder, recover):
    damage(commit_file(folder, 3), "empty")
    damage(commit_file(folder, 2), "torn")
    assert len(recover()) == 2
    assert values(folder) == [1]


def test_a_newest_commit_whose_data_file_is_not_whole_is_set_aside(folder, recover):
    (newest,) = set(DeltaTable(folder).file_uris()) - set(DeltaTable(folder, 2).file_uris())
    damage(folder / newest.rsplit("/", 1)[1], "torn")
    assert len(recover()) == 1
    assert values(folder) == [1, 2]


def test_a_torn_commit_that_others_stand_on_is_refused(folder, recover):
    damage(commit_file(folder, 2), "torn")
    with pytest.raises(LakeError, match="is torn, and later commits stand on it"):
        recover()
    assert commit_file(folder, 2).exists()


def test_a_checkpoint_that_is_not_whole_is_set_aside(folder, recover):
    DeltaTable(folder).create_checkpoint()
    checkpoint = folder / "_delta_log" / f"{3:020}.checkpoint.parquet"
    damage(checkpoint, "torn")
    assert [one.file for one in recover()] == ["_last_checkpoint", checkpoint.name]
    assert values(folder) == [1, 2, 3]


def test_logs_are_looked_at_once_after_each_start_of_the_machine(folder, tmp_path):
    state = tmp_path / "_state"
    recover_after_crash(LocalStore.at(tmp_path), state, "this boot")
    damage(commit_file(folder, 2), "empty")
    assert recover_after_crash(LocalStore.at(tmp_path), state, "this boot") == []
    with pytest.raises(LakeError, match="is empty"):
        recover_after_crash(LocalStore.at(tmp_path), state, "another")


def test_commits_that_came_since_are_looked_at(folder, committer, land, tmp_path):
    state = tmp_path / "_state"
    recover_after_crash(LocalStore.at(tmp_path), state, "this boot")
    row = land(TABLE, pa.table({"n": [4]}, ROWS))
    committer.append([row], Batch("demux", 4))
    (folder / row.files[0].path).unlink()  # as in a copy that was made on top
    assert len(recover_after_crash(LocalStore.at(tmp_path), state, "this boot")) == 1
    assert values(folder) == [1, 2, 3]


def test_what_a_lost_compaction_removed_is_missing(folder, recover):
    newest = (set(DeltaTable(folder).file_uris()) - set(DeltaTable(folder, 2).file_uris())).pop()
    DeltaTable(folder).optimize.compact()
    (joined,) = DeltaTable(folder).file_uris()
    for name in (Path(joined).name, Path(newest).name):
        (folder / name).unlink()
    assert [one.file for one in recover()] == [commit_file(folder, n).name for n in (4, 3)]
    assert values(folder) == [1, 2]


def test_a_missing_file_that_others_stand_on_is_left_to_who_reads_it(folder, recover, caplog):
    (oldest,) = DeltaTable(folder, 1).file_uris()
    (folder / Path(oldest).name).unlink()
    assert recover() == []
    assert "which is not whole" in caplog.text


def test_files_elsewhere_are_not_looked_for(folder, recover, tmp_path):
    commit = commit_file(folder, 3)
    for address in ((tmp_path / "elsewhere").as_uri(), "s3://bucket/part.parquet"):
        told = json.loads(commit.read_text().splitlines()[-1])
        (tmp_path / "elsewhere").write_bytes(b"0" * told["add"]["size"])
        told["add"]["path"] = address
        lines = commit.read_text().splitlines()[:-1]
        commit.write_text("\n".join([*lines, json.dumps(told)]))
        assert recover() == []


def test_a_newest_commit_whose_data_file_is_missing_is_set_aside(folder, recover, committer):
    (newest,) = set(DeltaTable(folder).file_uris()) - set(DeltaTable(folder, 2).file_uris())
    (folder / newest.rsplit("/", 1)[1]).unlink()
    committer.append([Commit(table=TABLE, files=())], Batch("demux", 4))
    assert [one.file for one in recover()] == [commit_file(folder, n).name for n in (4, 3)]
    assert values(folder) == [1, 2]


def test_a_commit_whose_files_were_vacuumed_since_is_whole(folder, recover):
    handle = DeltaTable(folder)
    handle.optimize.compact()
    handle.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert recover() == []
    assert values(folder) == [1, 2, 3]


def test_a_table_that_was_put_back_is_looked_at_in_the_same_boot(folder, tmp_path):
    state = tmp_path / "_state"
    recover_after_crash(LocalStore.at(tmp_path), state, "this boot")
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    copy.rename(folder)
    damage(commit_file(folder, 3), "empty")
    assert len(recover_after_crash(LocalStore.at(tmp_path), state, "this boot")) == 1
