"""Tables whose files are elsewhere, as Spark's SHALLOW CLONE makes them.

They are changed, and the table that they were cloned from is not.
"""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.committer import Committer
from lake_assets.delta.crash_recovery import recover_after_crash
from lake_assets.delta.data_files import active_files, without
from lake_assets.delta.find_rows import find_rows
from lake_assets.delta.origins import Before
from lake_assets.delta.table_log import log_of
from lake_assets.delta.widen import drop_columns, widen
from lake_assets.errors import LakeError
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.sample import silver_of

SCHEMA = pa.schema(
    [("n", pa.int32()), ("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())]
)

UNO = silver_of("uno")


@pytest.fixture(params=["ä b"])
def clone(spark, tmp_path, request):
    """The lake, the clone's committer, and what Spark reads of it."""
    source, lake = tmp_path / request.param / "source", tmp_path / "lake"
    rows = [{"n": o, "topic": "t", "partition": 0, "offset": o} for o in range(4)]
    write_deltalake(str(source), pa.Table.from_pylist(rows, SCHEMA))
    folder = lake / UNO.relative
    spark.sql(f"CREATE TABLE delta.`{folder}` SHALLOW CLONE delta.`{source}`")
    before = sorted(path.name for path in source.rglob("*.parquet"))
    store = LocalStore.at(lake)
    committer = Committer(store, threads=1)

    def read() -> list[int]:
        spark.catalog.clearCache()
        return sorted(row.n for row in spark.read.format("delta").load(str(folder)).collect())

    assert read() == [0, 1, 2, 3]
    yield store, committer, read
    committer.close()
    assert sorted(path.name for path in source.rglob("*.parquet")) == before


@pytest.mark.parametrize("way", ["append", "replace"])
def test_rows_are_taken_out_of_it_once(clone, way):
    store, committer, read = clone
    handle = committer.fresh(UNO)
    below_two = Before({("t", 0): 2}, KAFKA)
    removed, kept = without(log_of(store, UNO), active_files(handle), below_two)
    if way == "append":
        change = Commit(table=UNO, files=kept, removed=removed)
        committer.append([change], Batch("stream", 1))
    else:
        id_ = str(handle.metadata().id)
        known = {"seen": handle.version(), "plain_id": id_}
        committer.replace_files([Commit(table=UNO, files=kept, removed=removed, **known)])
    assert read() == [2, 3]


def test_a_wider_column_and_one_column_less_are_written_beside_its_log(clone):
    _, committer, read = clone
    wider = pa.schema([pa.field("n", pa.int64()), *list(SCHEMA)[1:]])
    assert widen(committer, {UNO: wider}) == {UNO: ["n"]}
    assert read() == [0, 1, 2, 3]
    assert drop_columns(committer, UNO, ["topic"])
    assert read() == [0, 1, 2, 3]
    assert all("/" not in file.path for file in active_files(committer.fresh(UNO)))


def test_its_rows_are_found_and_its_log_is_whole(clone, tmp_path):
    store, committer, _ = clone
    (row,) = find_rows(log_of(store, UNO), committer.fresh(UNO), {"offset": 2}, ["n"])
    assert row.row["n"] == 2
    assert Path(row.file.path).is_file()
    assert recover_after_crash(store, tmp_path / "state", "boot") == []


def test_a_file_in_another_store_is_no_path_here(tmp_path):
    log = log_of(LocalStore.at(tmp_path), UNO)
    with pytest.raises(LakeError, match="in another store, as in a shallow clone"):
        log.data_file("s3://bucket/part.parquet")
