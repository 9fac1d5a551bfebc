"""Columns of a partitioned table that get a wider type or a newer name, and rows their partition.

What the log says of a file's partition is what readers take, so it must be what its rows say.
"""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake

from lake_assets.delta.commit import Batch, Commit, DataFile
from lake_assets.delta.committer import Committer
from lake_assets.delta.data_files import active_files
from lake_assets.delta.relayout import lay_out
from lake_assets.delta.renamed_columns import Renames, marked
from lake_assets.delta.table_layout import layout_of
from lake_assets.delta.table_log import log_of
from lake_assets.delta.widen import drop_columns, widen
from lake_assets.model.layouts import partition_columns
from lake_assets.parquet.data_file import write_file, write_partitions
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")
TIME = pa.timestamp("us", "UTC")
OLD = Renames(now={"region": "area", "at": "happened"})
COLUMNS = pa.schema([("n", pa.int64()), ("level", pa.int32()), ("region", pa.string())])
BOTH = pa.schema([*COLUMNS, ("area", pa.string())])
ROWS: list[dict[str, Any]] = [
    {"n": 1, "level": 1, "region": "eu"},
    {"n": 2, "level": -1, "region": "us"},
    {"n": 3, "level": None, "region": None},
]


@pytest.fixture
def committer(tmp_path):
    made = Committer(LocalStore.at(tmp_path), threads=1)
    yield made
    made.close()


@pytest.fixture(params=["ours", "another engine's"])
def fill(request, committer, tmp_path):
    """A partitioned table with rows, in files with the partition columns or without."""

    def go(columns, rows, by):
        committer.create({UNO: columns}, partition_by={UNO: [by]})
        data = pa.Table.from_pylist(rows, schema=columns)
        if request.param != "ours":
            write_deltalake(tmp_path / UNO.relative, data, mode="append")
            return
        parts = write_partitions(committer.store, data, log_of(committer.store, UNO).folder, [by])
        files = [DataFile(partition=values, **written) for values, written in parts]
        committer.append([Commit(table=UNO, files=files)], Batch("s", 1))

    return go


def checked(tmp_path, by):
    """The rows as a reader of the log has them, which files that have all columns say as well."""
    handle = DeltaTable(tmp_path / UNO.relative)
    for file in active_files(handle):
        if not file.has_all_columns:
            continue
        own = pq.read_table(tmp_path / UNO.relative / file.path, partitioning=None)
        (value,) = set(own[by].to_pylist())
        assert (value if value is None else str(value)) == file.partition[by]
    return handle.to_pyarrow_table().sort_by("n").to_pylist()


@pytest.mark.parametrize("kind", [pa.int64(), pa.decimal128(20, 0)])
def test_the_column_itself_becomes_wider(committer, fill, tmp_path, kind):
    fill(COLUMNS, ROWS, "level")
    wider = pa.schema([("level", kind)])
    assert widen(committer, {UNO: wider}) == {UNO: ["level"]}
    expected = [1, -1, None] if kind == pa.int64() else [Decimal(1), Decimal(-1), None]
    assert [row["level"] for row in checked(tmp_path, "level")] == expected


def test_another_column_becomes_wider(committer, fill, tmp_path):
    fill(COLUMNS, ROWS, "region")
    widen(committer, {UNO: pa.schema([("level", pa.int64())])})
    assert checked(tmp_path, "region") == ROWS


def test_a_newer_name_gets_the_values_of_the_partition_column(committer, fill, tmp_path):
    fill(COLUMNS, ROWS, "region")
    widen(committer, {UNO: marked(BOTH, OLD)}, OLD)
    assert checked(tmp_path, "region") == [{**row, "area": row["region"]} for row in ROWS]


def test_the_partition_column_gets_the_values_of_an_older_name(committer, fill, tmp_path):
    """As where a table was laid out by the newest name before it had the values."""
    fill(BOTH, ROWS, "area")
    widen(committer, {UNO: marked(BOTH, OLD)}, OLD)
    assert checked(tmp_path, "area") == [{**row, "area": row["region"]} for row in ROWS]
    partitions = {file.partition["area"] for file in active_files(committer.fresh(UNO))}
    assert partitions == {"eu", "us", None}


def test_a_day_is_that_of_a_time_which_came_from_an_older_name(committer, tmp_path):
    """As where one kind of message had the newest name before another one was renamed to it."""
    columns = pa.schema([("n", pa.int64()), ("at", TIME), ("happened", TIME)])
    rows = [{"n": 1, "at": 0}, {"n": 2, "happened": 86_400_000_000}, {"n": 3}]
    committer.create({UNO: columns})
    data = pa.Table.from_pylist(rows, schema=columns)
    write_deltalake(tmp_path / UNO.relative, data, mode="append")
    lay_out(committer, UNO, partition_columns({"day": "date(happened)"}))
    assert widen(committer, {UNO: marked(columns, OLD)}, OLD) == {UNO: ["happened"]}
    found = checked(tmp_path, "day")
    assert [str(row["day"]) for row in found] == ["1970-01-01", "1970-01-02", "None"]
    assert layout_of(committer.fresh(UNO)) == "day = date(happened)"


def test_a_time_that_a_day_was_made_of_can_be_dropped(committer, tmp_path):
    columns = pa.schema([("n", pa.int64()), ("at", TIME)])
    committer.create({UNO: columns})
    data = pa.Table.from_pylist([{"n": 1}], schema=columns)
    write_deltalake(tmp_path / UNO.relative, data, mode="append")
    lay_out(committer, UNO, partition_columns({"day": "date(at)"}))
    assert drop_columns(committer, UNO, ["at"])
    assert checked(tmp_path, "day") == [{"n": 1, "day": None}]


def test_a_layout_by_the_newest_name_takes_the_values_of_the_older_ones(committer, tmp_path):
    columns = pa.schema([*COLUMNS, ("at", TIME)])
    rows = [{**row, "at": n * 86_400_000_000} for n, row in enumerate(ROWS)]
    committer.create({UNO: columns})
    write_deltalake(
        tmp_path / UNO.relative, pa.Table.from_pylist(rows, schema=columns), mode="append"
    )
    more = [pa.field("area", pa.string()), pa.field("happened", TIME)]
    by = partition_columns({"area": "area", "day": "date(happened)"})
    lay_out(committer, UNO, by, more, OLD)
    found = checked(tmp_path, "area")
    assert [row["area"] for row in found] == ["eu", "us", None]
    assert [str(row["day"]) for row in found] == ["1970-01-01", "1970-01-02", "1970-01-03"]
    # And so there is nothing left to do for whoever adopts the table.
    assert widen(committer, {UNO: marked(pa.schema([*columns, *more]), OLD)}, OLD) == {}


def test_a_column_of_the_rows_takes_the_place_of_a_day_of_its_name(committer, tmp_path):
    """It is null in the rows of before, whatever the day was, until they are derived again."""
    columns = pa.schema([("n", pa.int64()), ("at", TIME)])
    committer.create({UNO: columns})
    data = pa.Table.from_pylist([{"n": 1, "at": 0}], schema=columns)
    write_deltalake(tmp_path / UNO.relative, data, mode="append")
    lay_out(committer, UNO, partition_columns({"day": "date(at)"}))
    own = partition_columns({"day": "day"})
    lay_out(committer, UNO, own, [pa.field("day", pa.string())])
    (row,) = checked(tmp_path, "day")
    assert (row["n"], row["day"]) == (1, None)
    lay_out(committer, UNO, partition_columns({"at_date": "date(at)"}))
    (row,) = checked(tmp_path, "at_date")
    assert (row["day"], str(row["at_date"])) == (None, "1970-01-01")


PLANES = ["\u91ce", "\U0001f0a1", "\U00020bb7\u91ce", "\U0002fa1d", "\U000e0041", "\U0010ffff"]


@pytest.mark.parametrize("by", [[], ["region"]], ids=["by statistics", "by partition"])
@pytest.mark.parametrize("text", PLANES, ids=ascii)
def test_texts_of_all_planes_are_found(committer, tmp_path, text, by):
    """Japanese names have characters beyond U+1FFFF, whose escapes deltalake takes for others."""
    committer.create({UNO: COLUMNS}, partition_by={UNO: by})
    data = pa.Table.from_pylist([{"n": 1, "region": text}], schema=COLUMNS)
    folder = log_of(committer.store, UNO).folder
    if by:
        parts = write_partitions(committer.store, data, folder, by)
        files = [DataFile(partition=values, **written) for values, written in parts]
    else:
        files = [DataFile(**write_file(committer.store, data, folder))]
    committer.append([Commit(table=UNO, files=files)], Batch("s", 1))
    handle = DeltaTable(tmp_path / UNO.relative)
    assert [row["region"] for row in handle.to_pyarrow_table().to_pylist()] == [text]
    assert [file.partition for file in active_files(handle)] == [dict.fromkeys(by, text)]
    dataset = handle.to_pyarrow_dataset()
    assert dataset.to_table(filter=pc.field("region") == text).num_rows == 1
    sql = f"select * from t where region = '{text}'"  # noqa: S608 - the test's own
    query = QueryBuilder().register("t", handle)
    assert pa.table(query.execute(sql).read_all()).num_rows == 1
