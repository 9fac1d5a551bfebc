import os
import shutil

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.delta.find_rows import Addition, find_rows
from lake_assets.errors import LakeError
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import local_log

UNO = silver_of("uno")


@pytest.fixture
def folder(tmp_path, committer, land):
    """Version 1 has the offsets 0 to 9, version 2 those from 10 to 19."""
    committer.create({UNO: pa.schema([("offset", pa.int64()), ("word", pa.string())])})
    for number in range(2):
        first = 10 * number
        found = pa.table({"offset": range(first, first + 10), "word": ["x"] * 10})
        committer.append([land(UNO, found)], Batch("query", number))
    return tmp_path / UNO.relative


def found(folder, offset, word="x"):
    key = {"offset": offset, "word": word}
    return find_rows(local_log(folder), DeltaTable(folder), key, [])


@pytest.mark.parametrize(("offset", "version"), [(0, 1), (9, 1), (10, 2), (19, 2)])
def test_a_row_is_found_with_the_commit_that_added_it(folder, offset, version):
    (row,) = found(folder, offset)
    assert row.row == {"offset": offset, "word": "x"}
    assert row.added == Addition(version=version, is_exact=True)
    assert row.file.as_path().is_file()


def test_a_row_that_is_not_there_is_not_found(folder):
    assert found(folder, 20) == []
    assert found(folder, 5, "y") == []


def test_a_file_whose_bounds_exclude_the_row_is_not_opened(folder):
    (row,) = found(folder, 0)
    row.file.as_path().unlink()
    assert len(found(folder, 10)) == 1


def test_a_file_that_is_lost_is_named(folder):
    (row,) = found(folder, 0)
    row.file.as_path().unlink()
    with pytest.raises(LakeError, match=f"{row.file.name}: the table's log names it"):
        found(folder, 0)


def test_rows_that_were_compacted_lie_in_a_rewritten_file(folder):
    DeltaTable(folder).optimize.compact()
    (row,) = found(folder, 12)
    assert row.added == Addition(version=3, is_exact=True)


def test_a_log_that_forgot_the_commit_tells_the_oldest_it_has(folder):
    DeltaTable(folder).create_checkpoint()
    for version in (0, 1):
        (folder / "_delta_log" / f"{version:020}.json").unlink()
    (row,) = found(folder, 0)
    assert row.added == Addition(version=2, is_exact=False)


def test_a_table_restored_from_a_copy_tells_the_same(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for commit in (copy / "_delta_log").iterdir():
        os.utime(commit)
    (row,) = find_rows(local_log(copy), DeltaTable(copy), {"offset": 12}, ["word"])
    assert row.added.version == 2
