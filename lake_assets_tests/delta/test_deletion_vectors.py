"""Rows deleted as the protocol's own example of a deletion vector has them, without an engine."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.delta.added_files import gained_between
from lake_assets.delta.commit import Batch
from lake_assets.delta.data_files import active_files
from lake_assets.delta.deletion_vectors import (
    deleted_rows,
    has_deleted_rows,
    kept_rows,
    undeleted,
    without_deleted,
)
from lake_assets.delta.find_rows import find_rows
from lake_assets.delta.log_history import newest_of, rows_of, state_of
from lake_assets.delta.table_log import log_of
from lake_assets.delta.widen import widen
from lake_assets.errors import TableFeatureError
from lake_assets.storage.local import LocalStore
from lake_assets_tests.sample import silver_of
from lake_assets_tests.table_logs import commit_file, local_log

UNO = silver_of("uno")
GONE = (3, 4, 7, 11, 18, 29)
VECTOR = {
    "storageType": "i",
    "pathOrInlineDv": "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    "sizeInBytes": 44,
    "cardinality": len(GONE),
}
FEATURES = ["deletionVectors"]


@pytest.fixture
def deleted(tmp_path, committer, land):
    """Version 1 has the rows 0 to 29, of which version 2 deletes some."""
    committer.create({UNO: pa.schema([("n", pa.int32()), ("at", pa.timestamp("us", "UTC"))])})
    rows = pa.table({"n": pa.array(range(30), pa.int32())})
    committer.append([land(UNO, rows)], Batch("query", 1))
    (file,) = active_files(committer.fresh(UNO))
    same = {"path": file.path, "dataChange": True, "partitionValues": {}, "size": file.size}
    stats = json.dumps({"numRecords": 30})
    actions = [
        {"commitInfo": {"timestamp": 0, "operation": "DELETE"}},
        {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": FEATURES,
                "writerFeatures": FEATURES,
            }
        },
        {"remove": {**same, "deletionTimestamp": 0}},
        {"add": {**same, "modificationTime": 0, "stats": stats, "deletionVector": VECTOR}},
    ]
    commit_file(tmp_path / UNO.relative, 2).write_text("\n".join(map(json.dumps, actions)))
    return DeltaTable(tmp_path / UNO.relative)


def test_the_rows_that_are_left_are_known_by_file(deleted, tmp_path):
    (file,) = active_files(deleted)
    log = local_log(tmp_path / UNO.relative)
    kept = kept_rows(log, deleted)[log.data_file(file.path)]
    assert tuple(np.flatnonzero(~kept)) == GONE
    assert deleted_rows(deleted) == len(GONE)


@pytest.mark.parametrize("linked", ["lake", "table"])
def test_they_are_known_where_a_lake_or_a_table_is_behind_a_link(deleted, tmp_path, linked):
    # deltalake follows links, and names files by where they lead.
    link = tmp_path / "link"
    if linked == "lake":
        link.symlink_to(tmp_path)
    else:
        (link / "silver").mkdir(parents=True)
        (link / UNO.relative).symlink_to(tmp_path / UNO.relative)
    log = log_of(LocalStore.at(link), UNO)
    (file,) = active_files(deleted)
    assert [*kept_rows(log, log.open())] == [log.data_file(file.path)]
    assert len(find_rows(log, log.open(), {"n": GONE[0]}, [])) == 0


def test_beside_features_that_deltalake_does_not_know_they_are_refused(deleted, tmp_path):
    features = [*FEATURES, "vacuumProtocolCheck"]
    versions = {"minReaderVersion": 3, "minWriterVersion": 7}
    protocol = {**versions, "readerFeatures": features, "writerFeatures": features}
    commit_file(tmp_path / UNO.relative, 3).write_text(json.dumps({"protocol": protocol}))
    deleted.update_incremental()
    with pytest.raises(TableFeatureError, match=r"REORG TABLE .* DROP FEATURE deletionVectors"):
        kept_rows(local_log(tmp_path / UNO.relative), deleted)


@pytest.mark.usefixtures("deleted")
def test_a_table_without_the_feature_has_none(tmp_path):
    before = DeltaTable(tmp_path / UNO.relative, version=1)
    assert (has_deleted_rows(before), deleted_rows(before), rows_of(before)) == (False, 0, 30)


def test_they_are_not_counted(deleted):
    assert rows_of(deleted) == state_of(deleted).rows == 30 - len(GONE)


def test_bounds_do_not_tell_the_newest_value_of_what_is_left(deleted):
    assert newest_of(deleted, "at") == (None, False)


@pytest.mark.parametrize(("number", "count"), [(2, 1), (3, 0), (5, 1), (29, 0)])
def test_they_are_not_found(deleted, tmp_path, number, count):
    assert len(find_rows(local_log(tmp_path / UNO.relative), deleted, {"n": number}, [])) == count


@pytest.mark.usefixtures("deleted")
def test_a_widening_leaves_them_out(tmp_path, committer):
    widen(committer, {UNO: pa.schema([("n", pa.int64())])})
    (file,) = active_files(committer.fresh(UNO))
    stored = pq.read_table(tmp_path / UNO.relative / file.path)["n"].to_pylist()
    assert stored == [n for n in range(30) if n not in GONE]
    assert deleted_rows(committer.fresh(UNO)) == 0


@pytest.mark.usefixtures("deleted")
def test_who_follows_a_log_is_told_that_rows_left(tmp_path):
    assert "version 2" in gained_between(local_log(tmp_path / UNO.relative), 1, 2).obstacle


def test_a_file_that_comes_in_batches_is_masked_as_a_whole():
    kept = np.array([True, False, True, False, True])
    rows = pa.table({"n": range(5)})
    batches = rows.to_batches(max_chunksize=2)
    assert pa.Table.from_batches(undeleted(batches, kept))["n"].to_pylist() == [0, 2, 4]
    assert pa.Table.from_batches(undeleted(batches, None)) == rows
    assert without_deleted(rows, kept)["n"].to_pylist() == [0, 2, 4]
