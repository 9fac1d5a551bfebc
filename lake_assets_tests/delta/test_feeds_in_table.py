"""Whose rows a table has, as they say themselves."""

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.feeds_in_table import others_in
from lake_assets.errors import LakeError
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of

UNO, POKER = silver_of("uno"), silver_of("poker")


@pytest.fixture
def lake(tmp_path):
    return LocalStore.at(tmp_path)


def add(lake, table, *feeds, column="_feed", **more):
    rows = pa.table({"n": pa.array(range(len(feeds))), column: pa.array(feeds, pa.string())})
    write_deltalake(lake.root.as_path() / table.relative, rows, mode="append", **more)


@pytest.mark.parametrize("has_bounds", [True, False])
def test_rows_that_name_another_feed_are_found_in_whichever_file(lake, has_bounds):
    properties = {} if has_bounds else {"delta.dataSkippingNumIndexedCols": "0"}
    add(lake, UNO, "games", "games", configuration=properties)
    add(lake, UNO, None, "games")
    assert others_in(lake, [POKER, UNO], "games") is None
    add(lake, UNO, "games", "old", "zoo")
    assert others_in(lake, [POKER, UNO], "games") == (UNO, "old")
    assert others_in(lake, [UNO], "zoo") == (UNO, "games")


def test_rows_that_were_deleted_are_none(lake):
    add(lake, UNO, "games", "old")
    DeltaTable(lake.root.as_path() / UNO.relative).delete("_feed = 'old'")
    assert others_in(lake, [UNO], "games") is None


def test_a_file_that_is_lost_has_none(lake):
    add(lake, UNO, "old")
    for file in (lake.root.as_path() / UNO.relative).glob("*.parquet"):
        file.unlink()
    assert others_in(lake, [UNO], "games") is None


def test_a_table_of_one_feed_has_none(lake):
    add(lake, UNO, "x", column="kind")
    assert others_in(lake, [UNO], "games") is None


def test_a_table_that_cannot_be_read_is_told(lake):
    add(lake, UNO, "games")
    (log,) = (lake.root.as_path() / UNO.relative / "_delta_log").glob("*.json")
    log.write_text("{torn")
    with pytest.raises(LakeError, match=r"silver_uno_events: cannot be read .*whose rows"):
        others_in(lake, [UNO], "games")
