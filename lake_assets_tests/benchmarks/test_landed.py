import os

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from benchmarks.landed import added_by, commits_of, files_below, landed, tables_of, written_between


@pytest.fixture
def table(tmp_path):
    folder = tmp_path / "silver_uno"
    for start in (0, 10):
        write_deltalake(folder, pa.table({"n": list(range(start, start + 5))}), mode="append")
    return folder


def test_a_table_is_summed_up_from_its_log(table):
    found = landed(table)
    sizes = [path.stat().st_size for path in table.glob("*.parquet")]
    assert (found.rows, found.files, found.size_bytes) == (10, 2, sum(sizes))


def test_files_that_were_replaced_do_not_count(table):
    write_deltalake(table, pa.table({"n": [1]}), mode="overwrite")
    assert (landed(table).rows, landed(table).files) == (1, 1)


def test_no_table_has_nothing(tmp_path):
    assert (landed(tmp_path).rows, commits_of(tmp_path)) == (0, [])


def test_a_compaction_adds_no_rows(table):
    DeltaTable(table).optimize.compact()
    first, second, compacted = commits_of(table)
    assert [sum(added_by(one).values()) for one in (first, second, compacted)] == [5, 5, 0]


@pytest.mark.usefixtures("table")
def test_files_of_all_tables_below_a_folder_are_counted(tmp_path):
    write_deltalake(tmp_path / "deep" / "gold", pa.table({"n": [1]}))
    assert files_below(tmp_path) == 3


@pytest.mark.usefixtures("table")
def test_what_came_in_a_time_is_told_without_what_was_only_moved(tmp_path):
    first, second = commits_of(tmp_path / "silver_uno")
    os.utime(first, (1_000, 1_000))
    os.utime(second, (2_000, 2_000))
    DeltaTable(tmp_path / "silver_uno").optimize.compact()
    found = written_between(tmp_path, 1_500, 2_500)
    assert (found.commits, found.files) == (1, 1)
    assert written_between(tmp_path, 1_500, 2**40).files == 1


def test_each_game_has_a_table(tmp_path):
    assert tables_of(["uno"], tmp_path) == {"uno": tmp_path / "silver_uno"}
