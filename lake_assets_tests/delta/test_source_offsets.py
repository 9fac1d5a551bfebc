import json

import pyarrow as pa
import pytest

from lake_assets.delta.commit import Batch, Commit
from lake_assets.delta.source_offsets import (
    as_json,
    from_json,
    furthest,
    offset_transactions,
    offsets_of_rows,
    recorded_offsets,
    table_offsets,
)
from lake_assets.model.tables import Layer, TableRef
from lake_assets_tests.columns import KAFKA
from lake_assets_tests.table_logs import local_log

TABLE = TableRef(layer=Layer.BRONZE, name="bronze_games")
COLUMNS = pa.schema([("topic", pa.string()), ("partition", pa.int32()), ("offset", pa.int64())])


@pytest.fixture
def table(committer):
    committer.create({TABLE: COLUMNS})
    return TABLE


def record(committer, number, reached, before):
    """A commit without rows that takes the table from some offsets to others."""
    marks = offset_transactions("kafka", reached, before)
    committer.append([Commit(table=TABLE, files=(), transactions=marks)], Batch("ingest", number))


def test_a_table_that_records_nothing_is_nowhere(committer, table):
    assert table_offsets(committer.fresh(table), "kafka", "t") == {}


def test_a_table_is_where_its_commits_took_it(committer, table):
    record(committer, 1, {("t", 0): 5, ("t", 2): 7}, {})
    record(committer, 2, {("t", 0): 9, ("t", 2): 7}, {("t", 0): 5, ("t", 2): 7})
    assert table_offsets(committer.fresh(table), "kafka", "t") == {("t", 0): 9, ("t", 2): 7}
    assert table_offsets(committer.fresh(table), "kafka", "other") == {}


def test_offsets_outlive_the_commits_that_recorded_them(committer, table, tmp_path):
    for number in range(1, 30):
        record(committer, number, {("t", 0): number}, {("t", 0): number - 1})
    committer.settle()
    log = tmp_path / table.relative / "_delta_log"
    newest = max(int(path.name.split(".")[0]) for path in log.glob("*.checkpoint.parquet"))
    for commit in log.glob("*.json"):
        if int(commit.stem) <= newest:
            commit.unlink()
    committer.close()
    assert table_offsets(committer.fresh(table), "kafka", "t") == {("t", 0): 29}


def test_a_partition_that_stays_where_it_was_is_not_recorded_again():
    marks = offset_transactions("kafka", {("t", 0): 5, ("t", 1): 6}, {("t", 0): 5})
    assert marks == [Batch("kafka:t", 2), Batch("kafka:t:1", 6)]
    found = recorded_offsets({mark.app_id: mark.version for mark in marks}, "kafka")
    assert found == {("t", 1): 6}


def test_rows_tell_how_far_a_table_is(tmp_path, table, land):
    rows = {"topic": ["t", "t", "u"], "partition": [0, 0, 1], "offset": [4, 9, 2]}
    commits = [land(table, pa.table(rows, COLUMNS)), land(table, pa.table(rows, COLUMNS).slice(2))]
    files = [file for commit in commits for file in commit.files]
    assert offsets_of_rows(local_log(tmp_path / table.relative), files, KAFKA) == {
        ("t", 0): 10,
        ("u", 1): 3,
    }


def test_the_furthest_of_some_offsets_is_found_by_partition():
    assert furthest([{("t", 0): 5, ("t", 1): 1}, {("t", 0): 3, ("u", 0): 2}]) == {
        ("t", 0): 5,
        ("t", 1): 1,
        ("u", 0): 2,
    }


def test_offsets_go_through_json_unchanged():
    offsets = {("t", 0): 5, ("t", 11): 6, ("u", 0): 2}
    assert from_json(json.loads(json.dumps(as_json(offsets)))) == offsets
