import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import LakeError
from lake_assets.spark.read_tables import columns_of_all, read_tables


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


def test_tables_whose_types_do_not_go_together_are_told_by_name(tmp_path):
    """Also in a struct; columns that one lacks, and nulls, go with any."""
    types = {"a": pa.int64(), "b": pa.float64(), "c": pa.struct([("x", pa.int64())])}
    for name, kind in types.items():
        rows = pa.table({"n": pa.array([None], kind), name: ["only here"]})
        write_deltalake(tmp_path / f"gold_{name}_top", rows)
    a, b, c = (DeltaTable(tmp_path / f"gold_{name}_top") for name in types)
    assert columns_of_all([a]).names == ["n", "a"]
    told = "gold_b_top: has column 'n' as double, and gold_a_top as int64"
    with pytest.raises(LakeError, match=told):
        columns_of_all([a, b, c])
    with pytest.raises(LakeError, match=r"gold_c_top: has column 'n' as struct.*gold_b_top as"):
        columns_of_all([b, c])


@pytest.mark.spark
def test_a_table_of_another_engine_s_partitions_is_read_with_their_values(spark, tmp_path):
    """Its files lack the columns, and lie in folders below the table's."""
    folder = tmp_path / "silver"
    rows = pa.table({"a": [1, 2], "p": ["x/y", None]})
    write_deltalake(folder, rows, partition_by=["p"])
    found = read_tables(spark, [DeltaTable(folder)], named="of")
    expected = [(1, "x/y", "silver"), (2, None, "silver")]
    assert sorted(tuple(row) for row in found.collect()) == expected
