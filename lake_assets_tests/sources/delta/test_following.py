import json
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.errors import SourceError, TableFeatureError
from lake_assets.model.delta_source import DeltaSource
from lake_assets.sources.delta.following import Following, partition_value
from lake_assets.sources.delta.rows import read_part
from lake_assets.sources.delta.source import AppendedRows
from lake_assets.sources.delta.source_table import log_of_source, open_source, reached
from lake_assets.sources.delta.versions import FileOrigin
from lake_assets.sources.files.index import entries_from
from lake_assets.sources.files.index_writer import FileIndex
from lake_assets.sources.files.reading import Part
from lake_assets.storage.local import LocalStore


@pytest.fixture
def lake(tmp_path):
    return LocalStore.at(tmp_path / "lake")


@pytest.fixture
def source(tmp_path):
    return DeltaSource(path=str(tmp_path / "orders"))


def append(source, *ids):
    write_deltalake(source.path, pa.table({"id": pa.array(ids, pa.int64())}), mode="append")


def follow(source, lake):
    """As a process that has just started."""
    index = FileIndex(lake, "orders")
    following = Following(source, lake, index, "orders")
    while following.step():
        pass
    index.close()
    entries = entries_from(lake, "orders", 0, 100)
    return [(entry.first, entry.lines) for entry in entries if entry.lines]


def test_offsets_follow_the_log_and_stand(source, lake):
    append(source, 1, 2)
    append(source, 3)
    first = follow(source, lake)
    assert sorted(lines for _, lines in first) == [1, 2]
    DeltaTable(source.path).optimize.compact()
    assert follow(source, lake) == first
    assert reached(lake, "orders").version == 2
    append(source, 4, 5)
    assert follow(source, lake) == [*first, (3, 2)]


def test_an_empty_table_is_known_once(source, lake):
    DeltaTable.create(source.path, pa.schema([("id", pa.int64())]))
    assert follow(source, lake) == []
    assert reached(lake, "orders").version == 0
    append(source, 1)
    assert follow(source, lake) == [(0, 1)]


def test_an_older_copy_of_the_table_is_refused(source, lake):
    append(source, 1)
    append(source, 2)
    follow(source, lake)
    (log_of_source(source).commit_file(1)).as_path().unlink()
    with pytest.raises(SourceError, match="is at version 0, and was read up to 1 already"):
        follow(source, lake)


def test_a_table_with_column_mapping_is_refused(source, lake):
    append(source, 1)
    commit = log_of_source(source).commit_file(0).as_path()
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in action:
            action["metaData"]["configuration"] = {"delta.columnMapping.mode": "name"}
            columns = json.loads(action["metaData"]["schemaString"])
            marks = {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"}
            columns["fields"][0]["metadata"] = marks
            action["metaData"]["schemaString"] = json.dumps(columns)
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    with pytest.raises(TableFeatureError, match="columnMapping"):
        open_source(source, lake, None)


def test_a_table_with_binary_partitions_is_refused(source, lake):
    rows = pa.table({"id": [1], "part": pa.array([b"a"], pa.binary())})
    write_deltalake(source.path, rows, partition_by=["part"])
    with pytest.raises(SourceError, match="partitioned by part, of type binary"):
        follow(source, lake)


@pytest.mark.parametrize("later", [{"q": ["x"]}, {"part": [3]}])
def test_partitions_that_a_table_had_are_read_by_the_types_that_they_had(source, lake, later):
    source = source.model_copy(update={"starting_version": 0, "skip_change_commits": True})
    write_deltalake(source.path, pa.table({"id": [1], "part": ["x"]}), partition_by=["part"])
    write_deltalake(
        source.path,
        pa.table({"id": [2], **later}),
        mode="overwrite",
        schema_mode="overwrite",
        partition_by=[*later],
    )
    assert follow(source, lake) == [(0, 1)]
    entry = entries_from(lake, "orders", 0, 1)[0]
    assert FileOrigin.of(entry.counted_as).partition == {"part": "x"}


def changed(source, version, change):
    """A commit as another writer would have made it."""
    commit = log_of_source(source).commit_file(version).as_path()
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        change(action)
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


@pytest.mark.parametrize("content", [None, b"PAR1 torn", "whole"])
def test_a_file_without_statistics_is_counted_and_one_that_is_lost_is_a_row(source, lake, content):
    append(source, 1, 2)
    changed(source, 0, lambda action: action.get("add", {}).pop("stats", None))
    (file,) = Path(source.path).glob("*.parquet")
    if content is None:
        file.unlink()
    elif content != "whole":
        file.write_bytes(content)
    append(source, 3)
    assert sum(lines for _, lines in follow(source, lake)) == (3 if content == "whole" else 2)


def test_statistics_that_are_none_are_told_and_what_came_before_is_read(source, lake):
    append(source, 1)
    follow(source, lake)
    append(source, 2)
    append(source, 3)
    changed(source, 2, lambda action: action.get("add", {}).update(stats='{"numRec'))
    with pytest.raises(SourceError, match="has a file in its version 2 that is told wrongly"):
        follow(source, lake)
    assert reached(lake, "orders").version == 1


def test_a_number_of_rows_below_none_takes_no_offset_back(source, lake):
    append(source, 1)
    append(source, 2)
    source = source.model_copy(update={"starting_version": 0})
    changed(source, 1, lambda action: action.get("add", {}).update(stats='{"numRecords": -1}'))
    assert follow(source, lake) == [(0, 1), (1, 1)]


@pytest.mark.parametrize("stamp", [-1, 2**62])
def test_a_commit_of_no_possible_time_is_read(source, lake, stamp):
    source = source.model_copy(update={"starting_version": 0})
    append(source, 1)
    changed(source, 0, lambda action: action.get("commitInfo", {}).update(timestamp=stamp))
    assert follow(source, lake) == [(0, 1)]


def test_nothing_is_unseen_before_the_starting_version(source, lake):
    source = source.model_copy(update={"starting_version": 1})
    rows = AppendedRows("orders", source, lake)
    append(source, 1)
    assert not rows.has_unseen()
    append(source, 2)
    assert rows.has_unseen()
    assert follow(source, lake) == [(0, 1)]
    assert not rows.has_unseen()


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (pa.int32(), "7", 7),
        (pa.bool_(), "true", True),
        (pa.bool_(), "false", False),
        (pa.float64(), "0.5", 0.5),
        (pa.float64(), "NaN", "NaN"),
        (pa.timestamp("us", "UTC"), "2026-01-01 00:00:00.5", "2026-01-01T00:00:00.5"),
        (pa.date32(), "2026-01-01", "2026-01-01"),
        (pa.decimal128(4, 2), "1.50", "1.50"),
        (pa.string(), "x y", "x y"),
    ],
)
def test_a_partition_s_value_is_that_of_its_column(kind, text, value):
    assert partition_value(kind, text) == value


RECORDED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def changing(source):
    return source.model_copy(update={"read": "changes"})


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


def test_each_change_is_what_delta_s_own_reader_says(changing, lake):
    write(changing, rows_of([1, 2, 3], 10))
    assert changes(changing, lake) == [(0, "insert", n, 10, "mo") for n in (1, 2, 3)]
    table = DeltaTable(changing.path)
    table.update(updates={"price": "price + 1"}, predicate="id = 2")
    table.delete("id = 3")
    merged = pa.concat_tables([rows_of([1], 5), rows_of([4], 6)])
    merge = table.merge(merged, "t.id = s.id", source_alias="s", target_alias="t")
    merge.when_matched_update_all().when_not_matched_insert_all().execute()
    write(changing, rows_of([8, 9], 7, "tu"))
    DeltaTable(changing.path).optimize.compact()
    DeltaTable(changing.path).delete("day = 'tu'")
    found = changes(changing, lake)
    assert Counter(found) == own_changes(changing)
    assert {change for _, change, *_ in found} == {
        "insert",
        "delete",
        "update_preimage",
        "update_postimage",
    }
    assert [version for version, *_ in found] == sorted(version for version, *_ in found)


def test_rows_that_are_put_back_or_overwritten_go_before_others_come(changing, lake):
    write(changing, rows_of([1], 10))
    write(changing, rows_of([2], 20), mode="overwrite")
    DeltaTable(changing.path).restore(0)
    assert changes(changing.model_copy(update={"starting_version": 0}), lake) == [
        (0, "insert", 1, 10, "mo"),
        (1, "delete", 1, 10, "mo"),
        (1, "insert", 2, 20, "mo"),
        (2, "delete", 2, 20, "mo"),
        (2, "insert", 1, 10, "mo"),
    ]


def test_changes_that_were_not_recorded_end_it_after_those_that_were(changing, lake):
    write(changing, rows_of([1, 2], 10), configuration={})
    assert len(changes(changing, lake)) == 2
    write(changing, rows_of([3], 10), configuration={})
    DeltaTable(changing.path).delete("id = 1")
    with pytest.raises(SourceError, match=r"version 2 \(DELETE\) and did not record how"):
        changes(changing, lake)
    assert reached(lake, "orders").version == 1
    DeltaTable(changing.path).alter.set_table_properties(RECORDED)
    with pytest.raises(SourceError, match="version 2"):
        changes(changing, lake)


def test_a_file_that_went_without_its_partition_is_refused(changing, lake):
    write(changing, rows_of([1], 10))
    write(changing, rows_of([2], 10), mode="overwrite")
    commit = log_of_source(changing).commit_file(1).as_path()
    actions = [json.loads(line) for line in commit.read_text().splitlines()]
    for action in actions:
        for name in ("partitionValues", "size"):
            action.get("remove", {}).pop(name, None)
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions))
    with pytest.raises(SourceError, match="does not tell in its version 1 of which partitions"):
        changes(changing.model_copy(update={"starting_version": 0}), lake)
