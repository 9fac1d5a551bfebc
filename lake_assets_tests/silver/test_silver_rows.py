import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from lake_assets.silver.demux_position import demux_app
from lake_assets.silver.silver_rows import has_rows
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.sample import GAMES, silver_of

ROW = pa.table({"gamer_id": ["a"]})


def test_tables_that_had_a_row_are_told_from_those_that_had_none(settings):
    lake, path = lake_of(settings), settings.lake_dir / silver_of("uno").relative
    assert not has_rows(lake, GAMES)
    write_deltalake(path, ROW.slice(0, 0))
    assert not has_rows(lake, GAMES)
    write_deltalake(path, ROW, mode="append")
    assert has_rows(lake, GAMES)


def test_rows_that_left_for_their_age_count_where_a_batch_is_recorded(settings):
    path = settings.lake_dir / silver_of("uno").relative
    batch = CommitProperties(app_transactions=[Transaction(demux_app("games"), 1)])
    write_deltalake(path, ROW, commit_properties=batch)
    DeltaTable(path).delete()
    assert has_rows(lake_of(settings), GAMES)
