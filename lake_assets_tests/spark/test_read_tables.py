import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.spark.read_tables import read_tables


@pytest.mark.spark
def test_tables_of_different_columns_are_one_frame(spark, tmp_path):
    narrow, wide = tmp_path / "narrow", tmp_path / "wide"
    write_deltalake(narrow, pa.table({"a": [1]}))
    write_deltalake(wide, pa.table({"a": [2], "b": ["x"]}))
    found = read_tables(spark, [DeltaTable(narrow), DeltaTable(wide)])
    assert sorted(tuple(row) for row in found.collect()) == [(1, None), (2, "x")]


@pytest.mark.spark
def test_a_table_without_files_is_an_empty_frame(spark, tmp_path):
    DeltaTable.create(tmp_path, schema=pa.schema([("a", pa.int64())]))
    found = read_tables(spark, [DeltaTable(tmp_path)])
    assert (found.columns, found.count()) == (["a"], 0)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["{y} * 100% %", "a=b", "a, b; c : d"])
def test_files_below_a_folder_that_looks_like_a_pattern_are_read_once(spark, tmp_path, name):
    folder = tmp_path / name
    for number in (1, 2):
        write_deltalake(folder, pa.table({"a": [number]}), mode="append")
    found = read_tables(spark, [DeltaTable(folder)])
    assert sorted(row.a for row in found.collect()) == [1, 2]
