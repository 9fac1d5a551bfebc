import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PythonException

from lake_assets.parquet.writer import TABLE, UNRESOLVED, Layout, Target, WritePlan
from lake_assets.spark.fan_out import Output
from lake_assets.spark.fan_out_twice import fan_out_twice
from lake_assets.storage.local import LocalStore

pytestmark = pytest.mark.spark

LAYOUT = Layout(schema=pa.schema([("a", pa.int64())]), sources=("a",))


class Placing:
    """Puts rows into a table by their remainder; those of one are a question, if it is given."""

    def __init__(self, tables, factor=1, asks_of=None, dies_of=None):
        self.tables, self.factor, self.asks_of, self.dies_of = tables, factor, asks_of, dies_of
        self.passed = 0

    def __call__(self, batches):
        for batch in batches:
            self.passed += batch.num_rows
            if self.dies_of in batch["a"].to_pylist():
                raise ValueError(f"{self.dies_of} is too much")
            made = pc.multiply(batch["a"], self.factor)
            places = pa.array([a % self.tables for a in made.to_pylist()], pa.int32())
            asked = [f"who is {a}?" if a == self.asks_of else None for a in made.to_pylist()]
            arrays = [made, places, pa.array(asked, pa.string())]
            yield pa.RecordBatch.from_arrays(arrays, names=["a", TABLE, UNRESOLVED])

    def notes(self):
        return [f"{self.factor}: {self.passed}"]


@pytest.fixture
def output(tmp_path):
    def build(name, tables, factor=1, buffer_bytes=2**30, **of_rows):
        store = LocalStore.at(tmp_path)
        targets = tuple(Target(store.root / f"{name}{i}", "it") for i in range(tables))
        layouts = {"it": LAYOUT}
        plan = WritePlan(store=store, targets=targets, layouts=layouts, buffer_bytes=buffer_bytes)
        return Output(plan=plan, transform=lambda: Placing(tables, factor, **of_rows))

    return build


@pytest.fixture
def rows(spark):
    return spark.range(0, 10, 1, 2).selectExpr("id as a")


def stored(folder):
    """Rows by table."""
    return {
        table.name: sorted(pq.read_table(table)["a"].to_pylist())
        for table in sorted(folder.iterdir())
        if any(table.glob("*.parquet"))
    }


def test_rows_are_written_twice_the_second_time_as_the_first_made_them(rows, output, tmp_path):
    done = fan_out_twice(rows, output("raw", 1, factor=10), output("out", 2, factor=1))
    tens = [10 * i for i in range(10)]
    assert stored(tmp_path) == {"raw0": tens, "out0": tens}
    assert {i: written.rows for i, written in done.first.written.items()} == {0: 10}
    assert {i: written.rows for i, written in done.second.written.items()} == {0: 10}
    assert sorted(done.first.notes) == ["10: 5", "10: 5"]
    assert sorted(done.second.notes) == ["1: 5", "1: 5"]
    assert done.questions == frozenset()


def test_each_output_has_tables_of_its_own(rows, output, tmp_path):
    done = fan_out_twice(rows, output("raw", 2), output("out", 3))
    assert stored(tmp_path) == {
        "raw0": [0, 2, 4, 6, 8],
        "raw1": [1, 3, 5, 7, 9],
        "out0": [0, 3, 6, 9],
        "out1": [1, 4, 7],
        "out2": [2, 5, 8],
    }
    assert set(done.second.written) == {0, 1, 2}


def test_a_question_of_the_second_leaves_the_first_whole(rows, output, tmp_path):
    done = fan_out_twice(rows, output("raw", 1), output("out", 1, asks_of=3))
    assert done.questions == {"who is 3?"}
    assert stored(tmp_path)["raw0"] == list(range(10))
    assert done.first.written[0].rows == 10


def test_a_small_buffer_makes_more_files_and_loses_nothing(rows, output, tmp_path):
    done = fan_out_twice(
        rows.coalesce(1), output("raw", 1, buffer_bytes=64), output("out", 1, buffer_bytes=64)
    )
    assert stored(tmp_path) == {"raw0": list(range(10)), "out0": list(range(10))}
    assert len(done.first.written[0].files) > 1
    assert len(done.second.written[0].files) > 1


def test_a_second_that_fails_leaves_no_files_of_either(rows, output, tmp_path):
    first = output("raw", 1, buffer_bytes=16)
    second = output("out", 1, buffer_bytes=16, dies_of=9)
    with pytest.raises(PythonException, match="9 is too much"):
        fan_out_twice(rows.coalesce(1), first, second)
    assert (tmp_path / "raw0").is_dir()  # it had begun to write
    assert stored(tmp_path) == {}
