import shutil

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.delta.commit_digest import commit_digest
from lake_assets_tests.table_logs import commit_file, local_log

ROWS = pa.table({"n": [1]})


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "table"
    for _ in range(3):
        write_deltalake(folder, ROWS, mode="append")
    return folder


def test_each_commit_of_a_table_has_a_digest_of_its_own(table):
    assert len({commit_digest(local_log(table), version) for version in range(3)}) == 3


def test_a_copy_of_a_commit_has_its_digest(table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    assert commit_digest(local_log(tmp_path / "copy"), 2) == commit_digest(local_log(table), 2)


def test_a_table_that_was_restored_and_written_again_has_other_commits(table, tmp_path):
    shutil.copytree(table, tmp_path / "copy")
    write_deltalake(table, ROWS, mode="append")
    write_deltalake(tmp_path / "copy", ROWS, mode="append")
    assert commit_digest(local_log(tmp_path / "copy"), 3) != commit_digest(local_log(table), 3)


def test_a_commit_that_the_log_does_not_have_has_no_digest(table, tmp_path):
    commit_file(table, 0).unlink()
    assert commit_digest(local_log(table), 0) is None
    assert commit_digest(local_log(table), 3) is None
    assert commit_digest(local_log(tmp_path / "nowhere"), 0) is None
