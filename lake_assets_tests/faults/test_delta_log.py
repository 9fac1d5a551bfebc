import json

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from faults.delta_log import UnreadableError, read, replay, tables_in
from faults.places import on_disk


@pytest.fixture
def place(tmp_path):
    return on_disk(str(tmp_path))


def write(place, *values, **options):
    table = pa.table({"day": [f"d {v % 2}" for v in values], "v": list(values)})
    write_deltalake(f"{place.root}/a/t", table, mode="append", **options)


def values(place, *columns):
    rows = read(place, replay(place, "a/t"), columns or ("v",))
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def test_commits_are_replayed_and_rows_have_their_partitions_values(place):
    write(place, 1, 2, partition_by=["day"])
    write(place, 3)
    assert tables_in(place.files_below()) == ["a/t"]
    assert values(place, "v", "day") == [(1, "d 1"), (2, "d 0"), (3, "d 1")]


def test_a_column_that_a_file_has_not_is_null_in_it(place):
    write(place, 1)
    write_deltalake(
        f"{place.root}/a/t", pa.table({"new": ["x"]}), mode="append", schema_mode="merge"
    )
    rows = read(place, replay(place, "a/t"), ("v", "new")).to_pylist()
    assert sorted(rows, key=str) == [{"v": 1, "new": None}, {"v": None, "new": "x"}]


def test_a_checkpoint_stands_for_the_commits_before_it_and_all_its_removes_stay_named(
    place, tmp_path
):
    write(place, 1)
    before = set(replay(place, "a/t").files)
    DeltaTable(f"{place.root}/a/t").delete()
    write(place, 2)
    DeltaTable(f"{place.root}/a/t").create_checkpoint()
    write(place, 3)
    for version in range(3):
        (tmp_path / "a" / "t" / "_delta_log" / f"{version:020}.json").unlink()
    found = replay(place, "a/t")
    assert values(place) == [(2,), (3,)]
    assert before < found.named
    assert not before & set(found.files)


def test_a_hole_in_the_log_is_refused(place, tmp_path):
    for value in range(3):
        write(place, value)
    (tmp_path / "a" / "t" / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(UnreadableError, match="version 1 is not in its log"):
        replay(place, "a/t")


def test_a_log_that_begins_late_without_a_checkpoint_is_refused(place, tmp_path):
    write(place, 1)
    write(place, 2)
    (tmp_path / "a" / "t" / "_delta_log" / f"{0:020}.json").unlink()
    with pytest.raises(UnreadableError, match="version 0 is not in its log"):
        replay(place, "a/t")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"add": {"path": "x", "deletionVector": {"storageType": "u"}}}, "deletion vectors"),
        (
            {
                "metaData": {
                    "partitionColumns": [],
                    "configuration": {"delta.columnMapping.mode": "name"},
                }
            },
            "mapped",
        ),
        ({"protocol": {"minReaderVersion": 2}}, "version 2"),
    ],
)
def test_what_the_first_version_of_the_protocol_has_not_is_refused(place, tmp_path, action, words):
    write(place, 1)
    log = tmp_path / "a" / "t" / "_delta_log"
    (log / f"{1:020}.json").write_text(json.dumps(action))
    with pytest.raises(UnreadableError, match=words):
        replay(place, "a/t")


def test_a_checkpoint_of_another_kind_is_refused(place, tmp_path):
    write(place, 1)
    log = tmp_path / "a" / "t" / "_delta_log"
    (log / f"{1:020}.checkpoint.3a0d65cd-4056-49b8-937b-95f9e3ee90e5.json").touch()
    with pytest.raises(UnreadableError, match="another kind"):
        replay(place, "a/t")
