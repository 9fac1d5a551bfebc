import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.data_files import active_files
from lake_assets.delta.table_log import TableLog
from lake_assets.model.flows import origin_of
from lake_assets.model.lake_uri import LakeUri
from lake_assets.silver.own_rows import own_rows
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import GAMES

pytestmark = pytest.mark.spark


def test_columns_of_the_payload_may_be_called_as_bronze_calls_a_rows_origin(spark, tmp_path):
    rows = {"Offset": [7], "topic": ["x"], "_topic": ["t"], "_partition": [0], "_offset": [3]}
    write_deltalake(tmp_path, pa.table(rows))
    handle, origin = DeltaTable(tmp_path), origin_of(GAMES)
    log = TableLog(LocalStore.at(tmp_path), LakeUri.local(tmp_path))
    columns = pa.schema(handle.schema().to_arrow())
    found = own_rows(spark, log, columns, active_files(handle), origin)
    assert [tuple(row) for row in found.select(*origin.identity).collect()] == [("t", 0, 3)]
