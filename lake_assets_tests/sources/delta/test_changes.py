"""Changes of rows, held against deltalake's own reader of the change data feed."""

import json
from collections import Counter

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import SourceError
from lake_assets.model.delta_source import DeltaSource
from lake_assets.sources.delta.following import Following
from lake_assets.sources.delta.rows import read_part
from lake_assets.sources.delta.source_table import log_of_source, reached
from lake_assets.sources.files.index import entries_from
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.sources.files.reading import Part
from lake_assets.storage.local import LocalStore

RECORDED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def lake(tmp_path):
    return LocalStore.at(tmp_path / "lake")


@pytest.fixture
def source(tmp_path):
    return DeltaSource(path=str(tmp_path / "orders"), read="changes")


def rows_of(ids, price, day="mo"):
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "price": pa.array([price] * len(ids), pa.int64()),
            "day": pa.array([day] * len(ids), pa.string()),
        }
    )


def write(source, rows, **options):
    options = {"mode": "append", "partition_by": ["day"], "configuration": RECORDED} | options
    write_deltalake(source.path, rows, **options)


def changes(source, lake):
    """What a process that has just started reads in all: version, values of each row, in order."""
    index = FileIndex(lake, "orders")
    following = Following(source, lake, index, "orders")
    try:
        while following.step():
            pass
    finally:
        index.close()
    found = []
    for entry in entries_from(lake, "orders", 0, 1000):
        for batch in read_part(source, Part(entry=entry, start=0, end=entry.lines)):
            for row in batch.to_pylist():
                assert row["_problem"] is None
                value = json.loads(row["value"])
                names = ("_change_type", "id", "price", "day")
                found.append((row["_source_version"], *(value[name] for name in names)))
    return found


def own_changes(source, first=0):
    rows = pa.table(DeltaTable(source.path).load_cdf(starting_version=first)).to_pylist()
    names = ("_commit_version", "_change_type", "id", "price", "day")
    return Counter(tuple(row[name] for name in names) for row in rows)


def test_each_change_is_what_delta_s_own_reader_says(source, lake):
    write(source, rows_of([1, 2, 3], 10))
    assert changes(source, lake) == [(0, "insert", n, 10, "mo") for n in (1, 2, 3)]
    table = DeltaTable(source.path)
    table.update(updates={"price": "price + 1"}, predicate="id = 2")
    table.delete("id = 3")
    merged = pa.concat_tables([rows_of([1], 5), rows_of([4], 6)])
    merge = table.merge(merged, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    write(source, rows_of([8, 9], 7, "tu"))
    DeltaTable(source.path).optimize.compact()
    DeltaTable(source.path).delete("day = 'tu'")
    found = changes(source, lake)
    assert Counter(found) == own_changes(source)
    assert {change for _, change, *_ in found} == {
        "insert",
        "delete",
        "update_preimage",
        "update_postimage",
    }
    assert [version for version, *_ in found] == sorted(version for version, *_ in found)


def test_rows_that_are_put_back_or_overwritten_go_before_others_come(source, lake):
    write(source, rows_of([1], 10))
    write(source, rows_of([2], 20), mode="overwrite")
    DeltaTable(source.path).restore(0)
    assert changes(source.model_copy(update={"starting_version": 0}), lake) == [
        (0, "insert", 1, 10, "mo"),
        (1, "delete", 1, 10, "mo"),
        (1, "insert", 2, 20, "mo"),
        (2, "delete", 2, 20, "mo"),
        (2, "insert", 1, 10, "mo"),
    ]


def test_changes_that_were_not_recorded_end_it_after_those_that_were(source, lake):
    write(source, rows_of([1, 2], 10), configuration={})
    assert len(changes(source, lake)) == 2
    write(source, rows_of([3], 10), configuration={})
    DeltaTable(source.path).delete("id = 1")
    with pytest.raises(SourceError, match=r"version 2 \(DELETE\) and did not record how"):
        changes(source, lake)
    assert reached(lake, "orders").version == 1
    DeltaTable(source.path).alter.set_table_properties(RECORDED)
    with pytest.raises(SourceError, match="version 2"):
        changes(source, lake)


def test_a_file_that_went_without_its_partition_is_refused(source, lake):
    write(source, rows_of([1], 10))
    write(source, rows_of([2], 10), mode="overwrite")
    commit = log_of_source(source).commit_file(1).as_path()
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        for name in ("partitionValues", "size"):
            action.get("remove", {}).pop(name, None)
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    with pytest.raises(SourceError, match="does not tell in its version 1 of which partitions"):
        changes(source.model_copy(update={"starting_version": 0}), lake)


def test_reading_changes_and_passing_over_them_is_refused(source):
    with pytest.raises(ValueError, match="declare one of them"):
        DeltaSource(path=source.path, read="changes", skip_change_commits=True)
