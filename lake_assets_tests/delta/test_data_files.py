import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import (
    active_files,
    folder_in_table,
    path_like,
    read_file,
    without,
)
from lake_assets.delta.origins import Everything, From, Origins
from lake_assets.model.lake_uri import LakeUri
from lake_assets.parquet.data_file import write_file
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import local_log

UNO = silver_of("uno")

SCHEMA = pa.schema(
    [
        ("v", pa.string()),
        ("_topic", pa.string()),
        ("_partition", pa.int32()),
        ("_offset", pa.int64()),
        ("day", pa.string()),
    ]
)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / UNO.relative


@pytest.fixture
def committer(tmp_path):
    found = Committer(LocalStore.at(tmp_path), threads=1)
    found.create({UNO: SCHEMA}, partition_by={UNO: ["day"]})
    yield found
    found.close()


@pytest.fixture
def add(committer, folder):
    """Adds a file with these offsets in a batch, and gives its path."""

    def append(number, *offsets, app="stream"):
        total = len(offsets)
        rows = pa.table(
            [
                [f"v{o}" for o in offsets],
                ["t"] * total,
                pa.array([0] * total, pa.int32()),
                list(offsets),
            ],
            schema=pa.schema([f for f in SCHEMA if f.name != "day"]),
        )
        file = DataFile(
            partition={"day": "x"},
            **write_file(LocalStore.at(folder), rows, LakeUri.local(folder), "day=x"),
        )
        committer.append([Commit(table=UNO, files=[file])], Batch(app, number))
        return file.path

    return append


def test_the_files_of_a_version_are_told_with_their_partition(add, folder):
    path = add(0, 1, 2)
    (file,) = active_files(DeltaTable(folder))
    assert (file.path, file.rows, file.partition) == (path, 2, {"day": "x"})
    assert file.size == (folder / path).stat().st_size


def test_a_file_without_some_rows_is_written_anew(add, folder):
    add(0, 1, 2, 3)
    (file,) = active_files(DeltaTable(folder))
    removed, (new,) = without(local_log(folder), [file], From({("t", 0): 2}, KAFKA))
    assert removed == [file]
    assert (new.rows, new.partition) == (1, {"day": "x"})
    assert '"numRecords": 1' in new.stats
    assert read_file(local_log(folder), new)["v"].to_pylist() == ["v1"]


def test_a_file_that_loses_all_or_nothing_is_not_written(add, folder):
    add(0, 1, 2)
    files = active_files(DeltaTable(folder))
    assert without(local_log(folder), files, Everything()) == (files, [])
    assert without(local_log(folder), files, Origins(KAFKA)) == ([], [])


@pytest.mark.parametrize("content", [None, b"", b"PAR1"], ids=ascii)
def test_rows_of_a_file_that_is_gone_or_torn_are_gone_where_some_may_be(add, folder, content):
    """Not of one that is as large as it was: what it has may be found yet."""
    (folder / add(0, 1, 2)).unlink()
    if content is not None:
        (folder / active_files(DeltaTable(folder))[0].path).write_bytes(content)
    add(1, 1)
    torn, whole = sorted(active_files(DeltaTable(folder)), key=lambda one: -one.rows)
    given = (local_log(folder), [torn, whole], From({("t", 0): 2}, KAFKA))
    assert without(*given, may_be_missing=True) == ([torn], [])
    with pytest.raises((FileNotFoundError, pa.ArrowInvalid)):
        without(*given)
    (folder / torn.path).write_bytes(b"x" * torn.size)
    with pytest.raises(pa.ArrowInvalid):
        without(*given, may_be_missing=True)


def test_a_swap_keeps_what_others_add_meanwhile(add, committer, folder):
    add(0, 1, 2)
    removed, added = without(
        local_log(folder), active_files(DeltaTable(folder)), From({("t", 0): 2}, KAFKA)
    )
    add(1, 9)
    committer.append([Commit(table=UNO, files=added, removed=removed)], Batch("redo", 1))
    assert sorted(DeltaTable(folder).to_pyarrow_table()["_offset"].to_pylist()) == [1, 9]


def file_of(path, **partition):
    return DataFile(path=path, size=1, rows=1, stats="", partition=partition)


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        (file_of("part-1.parquet"), ""),
        (file_of("day=x/part-1.parquet", day="x"), "day=x"),
        (file_of("whole-1.parquet", day="x"), ""),
        (file_of("day=x/part-1.parquet", day="x/../../.."), ""),
        (file_of("day=x/part-1.parquet", day=".."), ""),
        (file_of("day=x/part-1.parquet", day=None), ""),
    ],
)
def test_a_file_takes_another_s_place_in_the_table_whatever_its_partition_is_called(file, folder):
    assert folder_in_table(file) == folder
    prefix = "whole" if file.path.startswith("whole") else "part"
    assert path_like(file).rpartition("/")[2].startswith(f"{prefix}-")


def test_a_file_with_all_columns_keeps_them_when_rows_leave_it(committer, folder):
    rows = pa.table(
        [["a", "b"], ["t", "t"], pa.array([0, 0], pa.int32()), [1, 2], ["x", "x"]], schema=SCHEMA
    )
    written = write_file(
        committer.store, rows, LakeUri.local(folder), prefix="whole", partition_by=["day"]
    )
    file = DataFile(partition={"day": "x"}, **written)
    committer.append([Commit(table=UNO, files=[file])], Batch("stream", 1))
    (found,) = active_files(DeltaTable(folder))
    assert found.has_all_columns
    _, (new,) = without(local_log(folder), [found], From({("t", 0): 2}, KAFKA))
    assert new.has_all_columns
    assert "day" not in new.stats
    assert read_file(local_log(folder), new)["day"].to_pylist() == ["x"]
