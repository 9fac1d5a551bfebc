"""A table of another layout has the same rows, whatever its files were before."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.schema import Field, PrimitiveType

from lake_assets.delta.commit import LAID_OUT, Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.compaction import join_files
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
AT = datetime(2026, 11, 25, 1, tzinfo=UTC)

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


@pytest.mark.usefixtures("table")
def test_what_a_log_cannot_tell_is_counted(committer):
    assert lay_out(committer, UNO, BY_DAY) == 0
    assert lay_out(committer, UNO, BY_REGION) == 1
    assert lay_out(committer, UNO, BY_REGION) == lay_out(committer, UNO, ()) == 0


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


def test_a_column_of_the_days_very_values_gives_way_to_it(committer, tmp_path):
    """As one of an engine that wrote the table anew, and left out what its columns are made of."""
    folder = tmp_path / UNO.relative
    rows = [{**row, "day": row["at"] and row["at"].date()} for row in ROWS]
    columns = COLUMNS.append(pa.field("day", pa.date32()))
    data = pa.Table.from_pylist(rows, schema=columns)
    write_deltalake(folder, data, partition_by=["day"])
    lay_out(committer, UNO, BY_DAY)
    assert rows_in(folder) == rows
    assert layout_of(DeltaTable(folder)) == "day = date(at)"


@pytest.mark.parametrize("day", ["Monday", date(2026, 11, 23)], ids=str)
def test_values_of_a_column_that_rows_brought_stay_whatever_a_day_is_called(
    committer, tmp_path, day
):
    folder, kind = tmp_path / UNO.relative, pa.scalar(day).type
    columns = COLUMNS.append(pa.field("day", kind))
    committer.create({UNO: columns})
    rows = [{**row, "day": None} for row in ROWS] + [{**ROWS[0], "n": 5, "day": day}]
    data = pa.Table.from_pylist(rows, schema=columns)
    write_deltalake(folder, data, mode="append")
    names = {path.name for path in folder.glob("*.parquet")}
    told = r"has a column day, whose .*\. Give the day another name in .*: {other_name: date\(at\)}"
    with pytest.raises(LakeError, match=told):
        lay_out(committer, UNO, BY_DAY)
    assert rows_in(folder) == rows
    assert {path.name for path in folder.glob("*.parquet")} == names
    lay_out(committer, UNO, partition_columns({"at_date": "date(at)"}))
    assert [row["day"] for row in rows_in(folder)] == [None] * 4 + [day]


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


@pytest.mark.parametrize("part", ["its end is gone", "its pages are others"])
def test_a_file_that_is_damaged_is_told(committer, table, part):
    """As a machine without power may leave one."""
    (path, *_) = sorted(table.glob("*.parquet"))
    content = path.read_bytes()
    is_cut = part == "its end is gone"
    path.write_bytes(content[:60] if is_cut else b"PAR1" + b"\xff" * 200 + content[204:])
    told = f"{path.name}: cannot be read .*so its table cannot be laid out anew. Put the file back"
    with pytest.raises(LakeError, match=told):
        lay_out(committer, UNO, BY_DAY)
    assert len([*table.glob("*.parquet")]) == 2


@pytest.mark.usefixtures("table")
def test_files_of_one_layout_alone_come_into_a_table(committer):
    data = pa.Table.from_pylist(ROWS[:1], schema=COLUMNS)
    written = write_file(committer.store, data, log_of(committer.store, UNO).folder)
    file = DataFile(partition={"region": "eu"}, **written)
    with pytest.raises(LakeError, match="by no column, and new files of it by region"):
        committer.append([Commit(table=UNO, files=[file])], Batch("stream", 3))


EXTREMES = pa.schema(
    [
        ("n", pa.int64()),
        ("at", pa.timestamp("us", "UTC")),
        ("local", pa.timestamp("us", "UTC")),
        ("born", pa.date32()),
        ("amount", pa.decimal128(20, 0)),
        ("level", pa.int8()),
        ("is_new", pa.bool_()),
        ("text", pa.string()),
    ]
)

MOST = 2**63


def extremes():
    """Values at the ends of their types, in the order of `n`."""
    times = [-MOST, MOST - 1, -1, 0, None, -62_135_596_800_000_000, 253_402_300_799_999_999]
    wide = [Decimal(-(2**63)), Decimal(0), Decimal(2**64 - 1), None]
    count = len(times)
    return pa.table(
        {
            "n": range(count),
            "at": pa.array(times, pa.int64()).cast(EXTREMES.field("at").type),
            "local": pa.array(times[::-1], pa.int64()).cast(EXTREMES.field("at").type),
            "born": pa.array([date.min, date.max, None, *[date(1969, 12, 31)] * 4]),
            "amount": pa.array((wide * 2)[:count], EXTREMES.field("amount").type),
            "level": pa.array([-128, 127, 0, None, -1, -1, 1], pa.int8()),
            "is_new": [True, False, None, True, False, None, True],
            "text": ["a=b/c", "%41", "null", "__HIVE_DEFAULT_PARTITION__", " ", "\u0000", "é\n"],
        },
        schema=EXTREMES,
    )


LAYOUTS = [
    {"day": "date(at)"},
    {"day": "date(local)", "text": "text"},
    {"born": "born"},
    {"amount": "amount"},
    {"level": "level", "is_new": "is_new"},
    {"text": "text"},
    {},
]


def logged_rows(committer):
    """As `to_pyarrow_table`, which Python's own times are too short for."""
    return committer.fresh(UNO).to_pyarrow_table().select(EXTREMES.names).sort_by("n")


@pytest.mark.parametrize("theirs", [False, True], ids=["ours", "another engine's"])
def test_values_survive_each_layout(committer, tmp_path, theirs):
    """Whatever the layout before, and whoever wrote the files."""
    folder = tmp_path / UNO.relative
    committer.create({UNO: EXTREMES})
    rows = extremes()
    file = DataFile(**write_file(committer.store, rows, log_of(committer.store, UNO).folder))
    committer.append([Commit(table=UNO, files=[file])], Batch("stream", 1))
    for number, declared in enumerate(LAYOUTS, start=1):
        lay_out(committer, UNO, partition_columns(declared))
        assert logged_rows(committer) == rows, declared
        if theirs and declared:
            moved = committer.fresh(UNO).to_pyarrow_table()
            write_deltalake(folder, moved, mode="overwrite")
            files = active_files(committer.fresh(UNO))
            assert not any(file.has_all_columns for file in files)
            assert logged_rows(committer) == rows, declared
            DeltaTable(folder).optimize.compact()
        assert committer.fresh(UNO).version() >= number + 1


def test_times_of_ninety_six_bits_are_taken_as_they_are(committer, tmp_path):
    """As Spark writes them; in nanoseconds Arrow has the years 1677 to 2262 alone, and wraps."""
    folder = tmp_path / UNO.relative
    columns = pa.schema([("n", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    committer.create({UNO: columns})
    times = [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, tzinfo=UTC), AT]
    rows = pa.Table.from_pylist([{"n": n, "at": at} for n, at in enumerate(times)], schema=columns)
    files = []
    for name in ("part-1.parquet", "part-2.parquet"):
        pq.write_table(rows, folder / name, use_deprecated_int96_timestamps=True)
        size = (folder / name).stat().st_size
        stats = json.dumps({"numRecords": rows.num_rows})
        files.append(DataFile(path=name, size=size, rows=rows.num_rows, stats=stats))
    committer.append([Commit(table=UNO, files=files)], Batch("stream", 1))
    expected = sorted([*times, *times])

    def seen():
        return sorted(committer.fresh(UNO).to_pyarrow_table()["at"].to_pylist())

    before = committer.fresh(UNO).version()
    join_files(committer, UNO, active_files(committer.fresh(UNO)))
    assert seen() == expected
    committer.fresh(UNO).restore(before)
    committer.accept_restores({UNO: committer.fresh(UNO)})
    lay_out(committer, UNO, BY_DAY)
    assert seen() == expected
    days = {file.partition["day"] for file in active_files(committer.fresh(UNO))}
    assert days == {"0001-01-01", "9999-12-31", "2026-11-25"}
