import pyarrow as pa
import pyarrow.parquet as pq

from lake_assets.delta.commit import DataFile
from lake_assets.silver.unused_columns import unmade, without_values
from lake_assets_tests.table_logs import local_log

EVENT = pa.schema([("game", pa.string()), ("b", pa.bool_())])
CHAT = pa.schema([("game", pa.string()), ("text", pa.string())])


def test_columns_that_some_message_makes_are_kept():
    have = pa.schema([*EVENT, pa.field("text", pa.string())])
    assert unmade([have], [EVENT, CHAT]) == []


def test_columns_that_no_message_makes_or_of_another_type_are_not():
    wrong = pa.schema([("nick", pa.string()), ("b", pa.list_(pa.int32())), ("game", pa.string())])
    assert unmade([EVENT, wrong], [EVENT]) == ["nick", "b"]


def test_a_column_that_goes_with_one_message_and_not_with_another_is_for_rows_to_decide():
    other = pa.schema([("game", pa.string()), ("b", pa.string())])
    assert unmade([EVENT], [EVENT, other]) == ["b"]


def test_a_narrower_or_wider_type_is_no_other():
    have, made = pa.schema([("n", pa.int32())]), pa.schema([("n", pa.int64())])
    assert unmade([have], [made]) == unmade([made], [have]) == []


def test_what_has_a_value_somewhere_is_found(tmp_path):
    path = tmp_path / "rows.parquet"
    rows = {"a": [None, None], "b": [None, 1], "c": [[], None], "d": [{"x": None}, None]}
    pq.write_table(pa.table({**rows, "e": pa.nulls(2, pa.list_(pa.int32()))}), path)
    file = DataFile(path=path.name, size=path.stat().st_size, rows=2, stats="")
    assert without_values(local_log(tmp_path), file, ["a", "b", "c", "d", "e", "nobody"]) == [
        "a",
        "e",
        "nobody",
    ]
