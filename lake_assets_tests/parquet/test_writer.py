import json
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lake_assets.errors import LakeError
from lake_assets.parquet.partitioning import is_whole
from lake_assets.parquet.writer import (
    MANIFEST,
    TABLE,
    UNRESOLVED,
    Layout,
    Target,
    WritePlan,
    notes_of,
    write_task,
)
from lake_assets.storage.local import LocalStore

VALUES = pa.schema([("a", pa.int64())])
LAYOUT = Layout(schema=VALUES, sources=("a",))
PLENTY = 2**30


def batch(places, values=None, **more):
    columns = {
        TABLE: pa.array(places, pa.int32()),
        "a": pa.array(range(len(places)) if values is None else values, pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns | more)


@pytest.fixture
def plan(tmp_path):
    def build(*, targets=3, layout=LAYOUT, buffer_bytes=PLENTY, partition=""):
        store = LocalStore.at(tmp_path)
        return WritePlan(
            store=store,
            targets=tuple(
                Target(folder=store.root / str(i), layout="it", partition=partition)
                for i in range(targets)
            ),
            layouts={"it": layout},
            buffer_bytes=buffer_bytes,
        )

    return build


@pytest.fixture
def files(tmp_path):
    def read():
        """Rows of each file, by its target."""
        return sorted(
            (p.relative_to(tmp_path).parts[0], pq.read_table(p)["a"].to_pylist())
            for p in tmp_path.rglob("*.parquet")
        )

    return read


def manifest_of(batches, plan):
    found = list(write_task(batches, plan))
    assert all(one.schema == MANIFEST for one in found)
    return [entry for one in found for entry in one.to_pylist()]


def test_each_table_gets_one_file_with_its_rows_in_their_order(plan, files):
    manifest_of([batch([2, 0, 2, 0, 0]), batch([0, 2])], plan())
    assert files() == [("0", [1, 3, 4, 0]), ("2", [0, 2, 1])]


def test_rows_of_one_table_are_written_as_they_came(plan, files):
    manifest_of([batch([1, 1, 1])], plan())
    assert files() == [("1", [0, 1, 2])]


def test_the_manifest_describes_each_file(plan, tmp_path):
    (entry,) = manifest_of([batch([1, 1])], plan())
    path = tmp_path / "1" / entry["path"]
    assert (entry["target"], entry["rows"]) == (1, 2)
    assert entry["size"] == path.stat().st_size
    assert '"numRecords": 2' in entry["stats"]


def test_rows_without_a_table_are_left_out(plan, files):
    manifest_of([batch([None, 0, None])], plan())
    assert files() == [("0", [1])]


def test_a_task_whose_rows_all_lack_a_table_writes_nothing(plan, files):
    assert manifest_of([batch([None, None])], plan()) == []
    assert files() == []


def test_a_task_without_rows_writes_nothing(plan, files):
    assert manifest_of([batch([])], plan()) == []
    assert manifest_of([], plan()) == []
    assert files() == []


def test_a_full_buffer_is_flushed(plan, files):
    one = batch([0, 1])
    manifest_of([one] * 5, plan(buffer_bytes=4 * one.nbytes))
    sizes = sorted((target, len(values)) for target, values in files())
    assert sizes == [("0", 1), ("0", 2), ("0", 2), ("1", 1), ("1", 2), ("1", 2)]


def test_a_batch_larger_than_the_buffer_is_written_in_parts(plan, files):
    one = batch([0, 1] * 50)
    found = manifest_of([one], plan(buffer_bytes=one.nbytes))
    assert [e["rows"] for e in found] == [25, 25, 25, 25]
    assert sorted(v for _, values in files() for v in values) == list(range(100))


def test_a_row_larger_than_the_buffer_is_written_all_the_same(plan, files):
    manifest_of([batch([0, 0])], plan(buffer_bytes=1))
    assert files() == [("0", [0]), ("0", [1])]


@pytest.mark.parametrize("places", [[0], [0, 1, 2], [0] * 999 + [1]])
def test_memory_stays_below_the_buffer_however_skewed_the_rows(tmp_path, places):
    limit, width, size = 16 * 2**20, 200, 10_000
    schema = pa.schema([("a", pa.int64()), ("text", pa.string())])
    layout = Layout(schema=schema, sources=("a", "text"))
    store = LocalStore.at(tmp_path)
    targets = tuple(Target(folder=store.root / str(n), layout="it") for n in range(3))
    plan = WritePlan(store=store, targets=targets, layouts={"it": layout}, buffer_bytes=limit)
    seen = []

    def batches():
        for _ in range(20):  # 41 MB in all
            yield batch((places * size)[:size], range(size), text=pa.array(["x" * width] * size))

    class Pool(threading.Thread):
        """Looks at what Arrow holds while the rows are written."""

        def run(self):
            while not done.wait(0.0005):
                seen.append(pa.total_allocated_bytes())

    before, done = pa.total_allocated_bytes(), threading.Event()
    pool = Pool()
    pool.start()
    rows = sum(e["rows"] for e in manifest_of(batches(), plan))
    done.set()
    pool.join()
    one_batch, encoding = (width + 20) * size, 4 * 2**20
    assert rows == 20 * size
    assert max(seen) - before < limit + one_batch + encoding


def test_questions_are_asked_once_and_leave_no_file(plan, files):
    asked = pa.array([None, "game=x", "game=x", "schema_id=1"])
    found = manifest_of([batch([0, None, None, None], **{UNRESOLVED: asked})], plan())
    assert sorted(e["unresolved"] for e in found) == ["game=x", "schema_id=1"]
    assert {e["path"] for e in found} == {None}
    assert files() == []


def test_rows_without_a_question_are_written(plan, files):
    manifest_of([batch([0, 0], **{UNRESOLVED: pa.nulls(2, pa.string())})], plan())
    assert files() == [("0", [0, 1])]


def test_a_partition_is_a_folder_below_the_tables(plan, tmp_path):
    (entry,) = manifest_of([batch([0])], plan(partition="day=2026-11-21"))
    assert Path(entry["path"]).parent == Path("day=2026-11-21")
    assert (tmp_path / "0" / entry["path"]).is_file()


def test_columns_are_taken_from_their_sources_in_the_layouts_types(plan, tmp_path):
    layout = Layout(schema=pa.schema([("z", pa.string()), ("y", pa.int32())]), sources=("#v", "a"))
    rows = batch([0], **{"#v": pa.array(["x"])})
    (entry,) = manifest_of([rows], plan(layout=layout))
    assert pq.read_table(tmp_path / "0" / entry["path"]).to_pylist() == [{"z": "x", "y": 0}]


def test_a_value_that_its_column_cannot_hold_is_an_error(plan):
    layout = Layout(schema=pa.schema([("a", pa.int32())]), sources=("a",))
    with pytest.raises(pa.ArrowInvalid, match="not in range"):
        manifest_of([batch([0], [2**40])], plan(layout=layout))


def test_a_parser_makes_a_column_from_what_travelled(plan, tmp_path):
    layout = Layout(
        schema=pa.schema([("a", pa.list_(pa.int64()))]),
        sources=("a",),
        parsers={"a": lambda found: pa.array([[v, v] for v in found.to_pylist()])},
    )
    (entry,) = manifest_of([batch([0], [7])], plan(layout=layout))
    assert pq.read_table(tmp_path / "0" / entry["path"])["a"].to_pylist() == [[7, 7]]


def test_notes_are_manifest_rows_with_nothing_else():
    found = notes_of(["a", "b"])
    assert found.schema == MANIFEST
    empty = dict.fromkeys(set(MANIFEST.names) - {"note"})
    assert found.to_pylist() == [{"note": "a", **empty}, {"note": "b", **empty}]


def test_a_task_that_fails_leaves_no_files(plan, files):
    def batches():
        yield batch([0, 1, 2])
        yield batch([0, 1, 2])
        assert files()  # the first had to make room
        raise ValueError("the third")

    with pytest.raises(ValueError, match="the third"):
        list(write_task(batches(), plan(buffer_bytes=1)))
    assert files() == []


def test_a_task_leaves_no_files_of_targets_that_could_be_written(plan, files, tmp_path):
    (tmp_path / "2").write_text("no folder")
    with pytest.raises(LakeError, match="2"):
        list(write_task([batch([0, 1, 2])], plan()))
    assert files() == []


def test_a_partitioned_table_gets_a_file_for_each_value_of_a_batch(plan, tmp_path):
    columns = pa.schema([("a", pa.int64()), ("p", pa.string())])
    layout = Layout(schema=columns, sources=("a", "p"), partition_by=("p",))
    values = pa.array(["x", "", None, "x", "a/b"])
    entries = manifest_of([batch([1, 1, 1, 1, 1], p=values)], plan(layout=layout))
    found = {
        json.loads(entry["partition"])["p"]: pq.read_table(tmp_path / "1" / entry["path"])
        for entry in entries
    }
    # A log cannot tell an empty text from none.
    assert {value: rows.to_pydict() for value, rows in found.items()} == {
        "x": {"a": [0, 3], "p": ["x", "x"]},
        None: {"a": [1, 2], "p": [None, None]},
        "a/b": {"a": [4], "p": ["a/b"]},
    }
    assert all(is_whole(entry["path"]) and "/" not in entry["path"] for entry in entries)
    assert {*json.loads(entries[0]["stats"])["nullCount"]} == {"a"}


def test_a_partitioned_table_s_rows_stay_within_the_buffer(plan):
    columns = pa.schema([("a", pa.int64()), ("p", pa.string())])
    layout = Layout(schema=columns, sources=("a", "p"), partition_by=("p",))
    rows = batch([0] * 3000, p=pa.array([f"{i % 3}" for i in range(3000)]))
    entries = manifest_of([rows], plan(layout=layout, buffer_bytes=rows.nbytes))
    assert len(entries) == 9  # three flushes of a third of the buffer
    assert sum(entry["rows"] for entry in entries) == 3000


def test_whoever_wants_to_is_told_of_each_file_and_its_rows(plan, tmp_path):
    told = []

    def beside(target, rows, path):
        assert (tmp_path / str(target) / path).exists()
        told.append((target, rows["a"].to_pylist()))

    watched = replace(plan(), beside=beside)
    list(write_task([batch([1, 0, 1, None], [10, 11, 12, 13])], watched))
    assert sorted(told) == [(0, [11]), (1, [10, 12])]
