import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.metadata import (
    VERSION,
    declared_metadata,
    family_metadata,
    table_metadata,
)
from lake_assets.model.tables import silver_of

UNO = silver_of("uno")


@pytest.fixture
def lake(tmp_path):
    write_deltalake(UNO.path(tmp_path), pa.table({"n": [1, 2]}))
    return tmp_path


def test_an_absent_table_says_where_it_will_be(tmp_path):
    found = declared_metadata(tmp_path, UNO)
    assert set(found) == {"dagster/table_name", "path"}
    assert found["path"].value == str(UNO.path(tmp_path))
    assert table_metadata(tmp_path, UNO) == {}


def test_a_table_tells_its_rows_its_version_and_its_columns(lake):
    found = table_metadata(lake, UNO)
    assert found["dagster/row_count"].value == 2
    assert found["dagster/table_name"].value == "silver_uno_events"
    assert found[VERSION].value == 0
    assert found["files"].value == 1
    assert found["dagster/column_schema"].value == dg.TableSchema([dg.TableColumn("n", "long")])


def test_a_family_of_tables_shows_the_columns_of_one(lake):
    found = family_metadata(lake, silver_of("{game}"), UNO)
    assert found["dagster/table_name"].value == "silver_{game}_events"
    assert found["dagster/column_schema"].value == dg.TableSchema([dg.TableColumn("n", "long")])
