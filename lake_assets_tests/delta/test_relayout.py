"""A table of another layout has the same rows, whatever its files were before."""

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.schema import Field, PrimitiveType

from lake_assets.delta.commit import LAID_OUT, Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.delta.log_history import last_info
from lake_assets.delta.relayout import lay_out
from lake_assets.delta.table_layout import layout_of
from lake_assets.delta.table_log import log_of
from lake_assets.errors import CommitConflictError, LakeError
from lake_assets.model.layouts import partition_columns
from lake_assets.parquet.data_file import write_file
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")

COLUMNS = pa.schema([("n", pa.int64()), ("region", pa.string()), ("at", pa.timestamp("us", "UTC"))])

ROWS: list[dict[str, Any]] = [
    {"n": 1, "region": "eu", "at": datetime(2026, 11, 24, 23, 59, tzinfo=UTC)},
    {"n": 2, "region": "a/b=%é", "at": datetime(2026, 11, 25, tzinfo=UTC)},
    {"n": 3, "region": "", "at": None},
    {"n": 4, "region": None, "at": datetime(2026, 11, 25, 1, tzinfo=UTC)},
]

BY_DAY = partition_columns({"day": "date(at)"})
BY_REGION = partition_columns({"region": "region"})


@pytest.fixture
def committer(tmp_path):
    made = Committer(LocalStore.at(tmp_path), threads=1)
    yield made
    made.close()


@pytest.fixture
def table(committer, tmp_path):
    """Two files of rows."""
    committer.create({UNO: COLUMNS})
    for number, rows in enumerate((ROWS[:2], ROWS[2:]), start=1):
        append(committer, rows, number)
    return tmp_path / UNO.relative


def append(committer, rows, number):
    data = pa.Table.from_pylist(rows, schema=COLUMNS)
    file = DataFile(**write_file(committer.store, data, log_of(committer.store, UNO).folder))
    committer.append([Commit(table=UNO, files=[file])], Batch("stream", number))


def rows_in(folder):
    rows = DeltaTable(folder).to_pyarrow_table().sort_by("n")
    return rows.to_pylist()


def test_rows_are_what_they_were_with_the_day_beside_them(committer, table):
    lay_out(committer, UNO, BY_DAY)
    handle = DeltaTable(table)
    assert handle.metadata().partition_columns == ["day"]
    assert last_info(handle)[LAID_OUT] == "date(at)"
    found = rows_in(table)
    assert [{name: row[name] for name in COLUMNS.names} for row in found] == ROWS
    assert [str(row["day"]) for row in found] == ["2026-11-24", "2026-11-25", "None", "2026-11-25"]
    values = {file.partition["day"] for file in active_files(handle)}
    assert values == {"2026-11-24", "2026-11-25", None}
    assert handle.transaction_version("stream") == 2


def test_a_layout_goes_into_the_next_and_leaves_no_column(committer, table):
    lay_out(committer, UNO, BY_DAY)
    lay_out(committer, UNO, BY_REGION)
    expected = [{**row, "region": row["region"] or None} for row in ROWS]
    assert rows_in(table) == expected
    lay_out(committer, UNO, ())
    assert rows_in(table) == expected
    handle = DeltaTable(table)
    assert handle.metadata().partition_columns == []
    assert all(not file.partition for file in active_files(handle))


def test_files_of_other_engines_lack_their_partition_columns_and_get_them(committer, tmp_path):
    folder = tmp_path / UNO.relative
    write_deltalake(folder, pa.Table.from_pylist(ROWS, schema=COLUMNS), partition_by=["region"])
    lay_out(committer, UNO, BY_DAY)
    found = [{name: row[name] for name in COLUMNS.names} for row in rows_in(folder)]
    assert [{**row, "region": row["region"] or None} for row in found] == [
        {**row, "region": row["region"] or None} for row in ROWS
    ]


def test_a_column_of_the_same_name_that_others_made_is_made_anew(committer, table):
    handle = DeltaTable(table)
    handle.alter.add_columns([Field("day", PrimitiveType("date"), nullable=True)])
    lay_out(committer, UNO, BY_DAY)
    handle = DeltaTable(table)
    assert layout_of(handle) == "day = date(at)"
    assert str(rows_in(table)[0]["day"]) == "2026-11-24"


def test_a_column_that_no_row_had_yet_comes_with_the_layout(committer, table):
    more = [pa.field("level", pa.int32())]
    lay_out(committer, UNO, partition_columns({"level": "level"}), more)
    assert [row["level"] for row in rows_in(table)] == [None] * 4


def test_whoever_still_writes_by_the_former_layout_is_refused(committer, table):
    other = committer.independent()
    append(other, [{**ROWS[0], "n": 5}], 3)
    lay_out(committer, UNO, BY_DAY)
    with pytest.raises(LakeError, match=r"by day = date.at., and new files of it by no column"):
        append(other, [{**ROWS[0], "n": 6}], 4)
    other.close()
    assert [row["n"] for row in rows_in(table)] == [1, 2, 3, 4, 5]


def test_a_commit_in_between_is_not_lost(committer, table, monkeypatch):
    """It is laid out, too: the table is looked at again."""
    other, left = committer.independent(), [1]
    replace = committer.replace

    def late(*given):
        if left:
            left.pop()
            append(other, [{**ROWS[0], "n": 5}], 3)
        replace(*given)

    monkeypatch.setattr(committer, "replace", late)
    lay_out(committer, UNO, BY_DAY)
    other.close()
    assert [row["n"] for row in rows_in(table)] == [1, 2, 3, 4, 5]
    files = {file.path for file in active_files(DeltaTable(table))}
    left_over = {path.name for path in table.glob("whole-*.parquet")} - files
    assert left_over == set()


def test_commits_all_the_time_end_it_with_nothing_changed(committer, table, monkeypatch):
    other, numbers = committer.independent(), iter(range(3, 20))
    replace = committer.replace

    def late(*given):
        append(other, [{**ROWS[0], "n": 5}], next(numbers))
        replace(*given)

    monkeypatch.setattr(committer, "replace", late)
    with pytest.raises(CommitConflictError):
        lay_out(committer, UNO, BY_DAY)
    other.close()
    assert DeltaTable(table).metadata().partition_columns == []
    assert list(table.glob("whole-*.parquet")) == []


def test_a_file_that_is_gone_is_told(committer, table):
    next(table.glob("*.parquet")).unlink()
    with pytest.raises(LakeError, match="lacks a file that its log names"):
        lay_out(committer, UNO, BY_DAY)


@pytest.mark.usefixtures("table")
def test_files_of_one_layout_alone_come_into_a_table(committer):
    data = pa.Table.from_pylist(ROWS[:1], schema=COLUMNS)
    written = write_file(committer.store, data, log_of(committer.store, UNO).folder)
    file = DataFile(partition={"region": "eu"}, **written)
    with pytest.raises(LakeError, match="by no column, and new files of it by region"):
        committer.append([Commit(table=UNO, files=[file])], Batch("stream", 3))
