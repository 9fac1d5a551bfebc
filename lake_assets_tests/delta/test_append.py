import json
import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.append import append
from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.known_table import Known, look
from lake_assets.errors import LakeError
from lake_assets.model.tables import bronze_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import local_log

UNO = silver_of("uno")
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.string())])
FIRST = Batch("query", 1)


def rows(*values):
    return pa.table({"a": pa.array(values, pa.int64()), "b": [f"'{v}'" for v in values]})


def stored(lake, table):
    return sorted(DeltaTable(lake / table.relative).to_pyarrow_table()["a"].to_pylist())


def opened(lake, table=UNO):
    return DeltaTable(lake / table.relative)


def seen(handle):
    """What a log says, but for times."""
    add = pa.table(handle.get_add_actions(flatten=True)).drop_columns(["modification_time"])
    told = {k: v for k, v in handle.history(1)[0].items() if k.startswith(("lake_assets", "rows"))}
    return add.to_pylist(), told, handle.transaction_version("query"), handle.version()


def test_an_append_is_the_commit_that_deltalake_would_make(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    shutil.copytree(tmp_path / UNO.relative, tmp_path / "twin" / "silver" / UNO.name)
    commit = land(UNO, rows(1, 2), rows="2")
    committer.append([commit], FIRST)
    twin = Committer(LocalStore.at(tmp_path / "twin"), threads=1)
    twin.append_marked(commit, [FIRST])
    twin.close()
    assert seen(opened(tmp_path)) == seen(opened(tmp_path / "twin"))


@pytest.mark.parametrize("path", ["b=x/part-1.parquet", "b=x y/part %1 \u00e4.parquet"])
def test_a_partition_and_any_path_are_what_deltalake_would_make_of_them(tmp_path, committer, path):
    table = bronze_of("games")
    committer.create({table: SCHEMA}, partition_by={table: ["b"]})
    shutil.copytree(tmp_path / table.relative, tmp_path / "twin" / "bronze" / table.name)
    file = DataFile(path=path, size=1, rows=1, stats="{}", partition={"b": "x y"})
    commit = Commit(table=table, files=[file])
    committer.append([commit], FIRST)
    twin = Committer(LocalStore.at(tmp_path / "twin"), threads=1)
    twin.append_marked(commit, [FIRST])
    twin.close()
    assert seen(opened(tmp_path, table)) == seen(opened(tmp_path / "twin", table))


def test_a_taken_version_is_left_alone(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    folder = tmp_path / UNO.relative
    known = look(opened(tmp_path), FIRST)
    committer.append([land(UNO, rows(1))], FIRST)
    assert not append(local_log(folder), known, land(UNO, rows(2)), Batch("other", 1), 0)
    assert stored(tmp_path, UNO) == [1]
    assert not list((folder / "_delta_log").glob("*.tmp"))


def test_what_others_changed_meanwhile_is_noticed(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1))], FIRST)
    other = Committer(LocalStore.at(tmp_path), threads=1)
    other.add_columns({UNO: pa.schema([*SCHEMA, ("c", pa.int64())])})
    other.append([land(UNO, rows(2))], Batch("query", 2))
    other.close()
    assert committer.append([land(UNO, rows(2))], Batch("query", 2)) == [UNO]
    committer.append([land(UNO, rows(3))], Batch("query", 3))
    assert stored(tmp_path, UNO) == [1, 2, 3]
    assert opened(tmp_path).version() == 4


def test_a_table_that_was_made_anew_is_looked_at_again(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    for version in range(4):
        committer.append([land(UNO, rows(version))], Batch("query", version))
    shutil.rmtree(tmp_path / UNO.relative)
    with pytest.raises(LakeError):
        committer.append([land(UNO, rows(4))], Batch("query", 4))
    other = Committer(LocalStore.at(tmp_path), threads=1)
    shutil.rmtree(tmp_path / UNO.relative)
    other.create({UNO: SCHEMA})
    other.close()
    committer.append([land(UNO, rows(4))], Batch("query", 4))
    assert stored(tmp_path, UNO) == [4]


def test_an_appended_commit_is_complete_json_lines(tmp_path, committer, land):
    committer.create({UNO: SCHEMA})
    committer.append([land(UNO, rows(1), rows="1")], FIRST)
    lines = (tmp_path / UNO.relative / "_delta_log" / f"{1:020}.json").read_text().splitlines()
    assert [next(iter(json.loads(line))) for line in lines] == ["commitInfo", "txn", "add"]


def test_of_an_unknown_stream_nothing_is_claimed():
    known = Known(version=3, table_id="id", last={"query": 1})
    assert [known.has(Batch("query", n)) for n in (1, 2)] == [True, False]
    assert known.has(Batch("other", 1)) is None


def test_the_hundredth_append_reads_no_more_than_the_tenth(tmp_path, committer, land):
    looks = []

    class Counted(Committer):
        """Counts how often a table's log is read for an append."""

        def fresh(self, table):
            looks.append(table)
            return super().fresh(table)

    committer.create({UNO: SCHEMA})
    own = Counted(LocalStore.at(tmp_path), threads=1)
    for version in range(100):
        own.append([land(UNO, rows(version))], Batch("query", version))
    own.close()
    assert looks == [UNO]
    assert stored(tmp_path, UNO) == list(range(100))


@pytest.mark.parametrize("sweeps", ["true", "false"])
def test_old_commits_are_swept_where_the_table_says_so(tmp_path, committer, land, sweeps):
    properties = {
        "delta.logRetentionDuration": "interval 0 days",
        "delta.enableExpiredLogCleanup": sweeps,
    }
    committer.create({UNO: SCHEMA}, properties=properties)
    for version in range(25):
        committer.append([land(UNO, rows(version))], Batch("query", version))
    committer.settle()  # without retention, who reads while the log is swept may find files gone
    is_there = (tmp_path / UNO.relative / "_delta_log" / f"{0:020}.json").exists()
    assert is_there == (sweeps == "false")
    assert stored(tmp_path, UNO) == list(range(25))


def test_a_table_that_the_door_created_is_not_opened_for_its_first_append(
    tmp_path, committer, land, monkeypatch
):
    committer.create({UNO: SCHEMA})
    # Who opens a log now would fail.
    monkeypatch.setattr(DeltaTable, "__init__", None)
    assert committer.append([land(UNO, rows(1))], FIRST) == []
    assert committer.append([land(UNO, rows(2))], Batch("another query", 1)) == []
    assert committer.append([land(UNO, rows(1))], FIRST) == [UNO]
    monkeypatch.undo()
    assert stored(tmp_path, UNO) == [1, 2]


def test_another_door_s_batch_is_seen_although_this_one_created_the_table(
    tmp_path, committer, land
):
    committer.create({UNO: SCHEMA})
    other = Committer(LocalStore.at(tmp_path), threads=1)
    other.append([land(UNO, rows(1))], FIRST)
    other.close()
    assert committer.append([land(UNO, rows(1))], FIRST) == [UNO]
    assert stored(tmp_path, UNO) == [1]
