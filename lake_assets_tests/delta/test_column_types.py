import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.delta.column_types import Column, column_types
from lake_assets.model.tables import bronze_of
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import gold_of


def test_an_absent_table_has_no_columns(tmp_path):
    assert column_types(LocalStore.at(tmp_path), bronze_of("games")) == ()


def test_columns_come_with_type_and_comment(tmp_path):
    table = bronze_of("games")
    schema = pa.schema(
        [
            pa.field("offset", pa.int64(), metadata={"comment": "of the topic"}),
            pa.field("headers", pa.list_(pa.string())),
        ]
    )
    write_deltalake(
        tmp_path / table.relative, pa.table({"offset": [1], "headers": [["a"]]}, schema)
    )
    assert column_types(LocalStore.at(tmp_path), table) == (
        Column("offset", "long", "of the topic"),
        Column("headers", "array"),
    )


def test_what_gold_keeps_for_itself_is_not_shown(tmp_path):
    table = gold_of("uno", "player_agg")
    write_deltalake(tmp_path / table.relative, pa.table({"n": [1], "_state_n": [b"x"]}))
    assert column_types(LocalStore.at(tmp_path), table) == (Column("n", "long"),)
