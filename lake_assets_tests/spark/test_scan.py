from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake_assets.delta.origins import Before, NotIn
from lake_assets.model.lake_uri import LakeUri
from lake_assets.spark.scan import ScannedFile, rows_in, scan, share
from lake_assets.storage.local import LocalStore
from lake_assets_tests.columns import KAFKA

MB = 1024 * 1024


def paths(*names):
    return [Path(name) for name in names]


def test_tasks_have_about_the_same_to_read():
    files = [(Path(name), size * MB) for name, size in [("a", 9), ("b", 5), ("c", 3), ("d", 2)]]
    assert share(files, 2) == [paths("a"), paths("b", "c", "d")]


def test_no_task_is_idle():
    assert share([(Path("a"), 90 * MB)], 8) == [paths("a")]
    assert share([(Path("a"), 3 * MB), (Path("b"), 3 * MB)], 8) == [paths("a"), paths("b")]


def test_no_files_are_one_task_without_rows():
    assert share([], 8) == [[]]


def test_rows_are_told_by_the_footers(tmp_path):
    for number in (3, 4):
        pq.write_table(pa.table({"id": range(number)}), tmp_path / str(number))
    assert rows_in(LocalStore.at(tmp_path), map(scanned_file, tmp_path.iterdir())) == 7


def scanned_file(path):
    return ScannedFile(file=LakeUri.local(path), size=path.stat().st_size)


def rows_of(scanned):
    read_rows = scanned.read

    def read(batches):
        for batch in read_rows(batches):
            size = pa.array([batch.num_rows] * batch.num_rows, pa.int64())
            yield batch.append_column("size", size)

    return scanned.frame.mapInArrow(read, "id long, size long").toArrow()


@pytest.mark.spark
def test_rows_are_those_of_the_files_and_only_some_columns(spark, tmp_path):
    for number in range(3):
        table = pa.table({"id": range(number * 10, number * 10 + 10), "other": ["x"] * 10})
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=4)
    files = [scanned_file(path) for path in sorted(tmp_path.iterdir())]
    scanned = scan(spark, LocalStore.at(tmp_path), files, ["id"], tasks=2)
    found = rows_of(scanned)
    assert sorted(found["id"].to_pylist()) == list(range(30))
    assert set(found["size"].to_pylist()) == {4, 2}


@pytest.mark.spark
def test_large_values_are_read_few_at_a_time(spark, tmp_path):
    values = [bytes([i]) * (8 * MB) for i in range(20)]
    path = tmp_path / "large.parquet"
    pq.write_table(pa.table({"value": values}), path, use_dictionary=False)
    scanned = scan(spark, LocalStore.at(tmp_path), [scanned_file(path)], ["value"], tasks=2)

    read_rows = scanned.read

    def sizes(batches):
        for batch in read_rows(batches):
            yield pa.RecordBatch.from_pydict({"id": [batch.num_rows], "size": [batch.nbytes]})

    found = scanned.frame.mapInArrow(sizes, "id long, size long").toArrow()
    assert sum(found["id"].to_pylist()) == 20
    assert max(found["size"].to_pylist()) <= 72 * MB


@pytest.mark.spark
def test_only_the_rows_that_are_wanted_are_handed_over(spark, tmp_path):
    path = tmp_path / "rows.parquet"
    rows = {"topic": ["t", "t", "u"], "partition": [0, 0, 0], "offset": [4, 5, 4]}
    pq.write_table(pa.table(rows), path)
    later = NotIn(Before({("t", 0): 5}, KAFKA))
    files, columns = [scanned_file(path)], ["topic", "partition", "offset"]
    found = scan(spark, LocalStore.at(tmp_path), files, columns, tasks=1, keep=later)
    handed = found.frame.mapInArrow(found.read, "topic string, partition long, offset long")
    assert sorted(map(tuple, handed.collect())) == [("t", 0, 5), ("u", 0, 4)]
