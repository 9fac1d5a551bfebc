import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.lake.columns import Column, column_types
from lake_assets.model.tables import bronze_of


def test_an_absent_table_has_no_columns(tmp_path):
    assert column_types(tmp_path, bronze_of("games")) == ()


def test_columns_come_with_type_and_comment(tmp_path):
    table = bronze_of("games")
    schema = pa.schema(
        [
            pa.field("offset", pa.int64(), metadata={"comment": "of the topic"}),
            pa.field("headers", pa.list_(pa.string())),
        ]
    )
    write_deltalake(table.path(tmp_path), pa.table({"offset": [1], "headers": [["a"]]}, schema))
    assert column_types(tmp_path, table) == (
        Column("offset", "long", "of the topic"),
        Column("headers", "array"),
    )
