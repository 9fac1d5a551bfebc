import dagster as dg
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.defs.metadata import (
    VERSION,
    declared_metadata,
    family_metadata,
    refresh_metadata,
    table_metadata,
)
from lake_assets.feeds.load import find_feed, load_feeds
from lake_assets.model.reports import Mode, RefreshReport, ViewRefresh
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import gold_of, silver_of

UNO = silver_of("uno")


@pytest.fixture
def lake(tmp_path):
    write_deltalake(tmp_path / UNO.relative, pa.table({"n": [1, 2]}))
    return tmp_path


def test_an_absent_table_says_where_it_will_be(tmp_path):
    found = declared_metadata(LocalStore.at(tmp_path), UNO)
    assert set(found) == {"dagster/table_name", "dagster/uri", "path"}
    assert found["path"].value == str(tmp_path / UNO.relative)
    assert table_metadata(LocalStore.at(tmp_path), UNO) == {}


def test_a_table_tells_its_rows_its_version_and_its_columns(lake):
    found = table_metadata(LocalStore.at(lake), UNO)
    assert found["dagster/row_count"].value == 2
    assert found["dagster/uri"].value == (lake / UNO.relative).as_uri()
    assert found["dagster/table_name"].value == "silver_uno_events"
    assert found[VERSION].value == 0
    assert found["files"].value == 1
    assert found["dagster/column_schema"].value == dg.TableSchema([dg.TableColumn("n", "long")])


def test_a_family_of_tables_shows_the_columns_of_one(lake):
    found = family_metadata(LocalStore.at(lake), silver_of("{key}"), UNO)
    assert found["tables"].value == "silver_{key}_events"
    assert found["dagster/column_schema"].value == dg.TableSchema([dg.TableColumn("n", "long")])


def test_a_refresh_tells_which_way_it_took_and_why(tmp_path):
    write_deltalake(
        (tmp_path / gold_of("uno", "player_agg").relative), pa.table({"n": [1], "_state_n": [1]})
    )
    one = ViewRefresh(
        key="uno",
        view="player_agg",
        rows=1,
        silver_version=3,
        mode=Mode.INCREMENTAL,
        why="silver gained 1 file since",
        rows_read=5,
        rows_written=1,
        late_rows_in_all=7,
    )
    report = RefreshReport(refreshed=(one,), up_to_date=(), seconds={"plan": 0.25, "job": 1.0})
    found = refresh_metadata(LocalStore.at(tmp_path), find_feed(load_feeds(None), "games"), report)[
        "uno"
    ]
    assert found["refresh"].value == "incremental"
    assert found["refresh_why"].value == "silver gained 1 file since"
    assert (found["rows_read"].value, found["rows_written"].value) == (5, 1)
    assert found["late_rows_in_all"].value == 7
    assert found["seconds_of_plan"] == dg.MetadataValue.float(0.25)
    assert found["seconds_of_job"] == dg.MetadataValue.float(1.0)
    assert found["dagster/partition_row_count"].value == 1
    assert "dagster/row_count" not in found
    assert found["seconds_per_refresh"] == dg.MetadataValue.float(1.25)
    assert found["dagster/column_schema"].value == dg.TableSchema([dg.TableColumn("n", "long")])
