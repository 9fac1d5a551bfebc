import os
import time
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.compaction import join_files, joinable_files
from lake_assets.delta.log_history import (
    committed_at,
    last_info,
    open_table,
    rows_at,
    rows_of,
    rows_since,
    state_of,
    written_at,
)
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import local_log

UNO = silver_of("uno")


@pytest.fixture
def table(committer, land):
    """Versions 1 and 2 add two rows and one."""
    committer.create({UNO: pa.schema([("a", pa.int64())])})
    committer.append([land(UNO, pa.table({"a": [1, 2]}), rows="2")], Batch("query", 0))
    committer.append([land(UNO, pa.table({"a": [3]}), rows="1")], Batch("query", 1))
    return UNO


def test_an_absent_table_is_none(tmp_path):
    assert open_table(LocalStore.at(tmp_path), UNO) is None


def test_an_empty_folder_is_no_table(tmp_path):
    (tmp_path / UNO.relative).mkdir(parents=True)
    assert open_table(LocalStore.at(tmp_path), UNO) is None


def test_the_log_tells_a_tables_size(tmp_path, table):
    state = state_of(open_table(LocalStore.at(tmp_path), table))
    files = list((tmp_path / table.relative).glob("*.parquet"))
    assert (state.version, state.rows, state.files) == (2, 3, 2)
    assert state.size_bytes == sum(file.stat().st_size for file in files)


def test_the_log_tells_the_last_commit(tmp_path, table):
    state = state_of(open_table(LocalStore.at(tmp_path), table))
    assert datetime.now(UTC) - state.committed_at < timedelta(minutes=1)
    assert state.info["rows"] == "1"


def test_a_table_without_files_has_no_rows(tmp_path, committer):
    committer.create({UNO: pa.schema([("a", pa.int64())])})
    handle = open_table(LocalStore.at(tmp_path), UNO)
    state = state_of(handle)
    assert (state.rows, state.files, state.size_bytes, rows_of(handle)) == (0, 0, 0, 0)


def test_rows_are_counted_from_the_log(tmp_path, table):
    assert rows_of(open_table(LocalStore.at(tmp_path), table)) == 3


@pytest.mark.parametrize(("version", "rows"), [(0, 3), (1, 3), (2, 1), (3, 0), (9, 0)])
def test_rows_are_counted_from_a_version_on(tmp_path, table, version, rows):
    assert rows_since(open_table(LocalStore.at(tmp_path), table), version) == rows


def test_a_commits_time_is_that_of_its_file(tmp_path, table):
    at = committed_at(LocalStore.at(tmp_path), table, 2)
    assert at == pytest.approx(
        state_of(open_table(LocalStore.at(tmp_path), table)).committed_at.timestamp(), abs=5
    )
    assert committed_at(LocalStore.at(tmp_path), table, 3) is None


def test_joined_files_and_other_upkeep_are_no_writes(tmp_path, table, committer):
    lake = LocalStore.at(tmp_path)
    log = local_log(tmp_path / table.relative)
    last = log.open().history(1)[0]["timestamp"] / 1000
    assert join_files(committer, table, [file for file, _ in joinable_files(committer, table)])
    handle = log.open()
    handle.alter.set_table_properties({"delta.logRetentionDuration": "interval 1 days"})
    handle.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    assert handle.version() > 3
    for version in range(handle.version() + 1):
        os.utime(log.commit_file(version).as_path(), (0, 0))  # as in a copy
    assert written_at(lake, table) == last


def test_what_is_noted_without_files_is_a_write(tmp_path, table, committer):
    log = local_log(tmp_path / table.relative)
    time.sleep(0.01)  # commits tell milliseconds
    committer.append([Commit(table=table, files=(), info={"position": "3"})], Batch("query", 2))
    newest, before = (told["timestamp"] / 1000 for told in log.open().history(2))
    assert newest > before
    assert written_at(LocalStore.at(tmp_path), table) == newest


def test_an_absent_table_was_never_written(tmp_path):
    assert written_at(LocalStore.at(tmp_path), UNO) is None


def test_a_write_that_the_log_has_forgotten_has_no_time(tmp_path, table, committer):
    log = local_log(tmp_path / table.relative)
    assert join_files(committer, table, [file for file, _ in joinable_files(committer, table)])
    log.open().create_checkpoint()
    for version in range(3):
        log.commit_file(version).as_path().unlink()
    assert written_at(LocalStore.at(tmp_path), table) is None


def test_the_last_commits_metadata_is_that_of_the_state(tmp_path, table):
    handle = open_table(LocalStore.at(tmp_path), table)
    assert last_info(handle)["rows"] == "1"
    assert last_info(handle) == state_of(handle).info


def test_rows_at_a_version_are_those_of_then(tmp_path, table):
    found = open_table(LocalStore.at(tmp_path), table)
    assert [
        rows_at(local_log(tmp_path / table.relative), found, version) for version in (0, 1, 2)
    ] == [0, 2, 3]
    assert rows_at(local_log(tmp_path / table.relative), found, 9) is None
