import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from lake_assets.parquet.writer import TABLE, UNRESOLVED, Layout, Target, WritePlan
from lake_assets.spark.fan_out import FanOut, UnresolvedError, fan_out
from lake_assets.storage.local import LocalStore

pytestmark = pytest.mark.spark

LAYOUT = Layout(schema=pa.schema([("a", pa.int64())]), sources=("a",))


@pytest.fixture
def plan(tmp_path):
    def build(partition=""):
        store = LocalStore.at(tmp_path)
        targets = (Target(store.root / str(i), "it", partition) for i in range(3))
        return WritePlan(
            store=store, targets=tuple(targets), layouts={"it": LAYOUT}, buffer_bytes=2**30
        )

    return build


@pytest.fixture
def stored(tmp_path):
    def read():
        """Rows by target."""
        return {
            folder.name: sorted(pq.read_table(folder)["a"].to_pylist())
            for folder in sorted(tmp_path.iterdir())
            if any(folder.glob("*.parquet"))
        }

    return read


def test_one_job_writes_all_tables(spark, plan, stored):
    rows = spark.createDataFrame([(i, i % 3) for i in range(10)], f"a long, `{TABLE}` int")
    written = fan_out(rows.repartition(2), plan()).written
    assert stored() == {"0": [0, 3, 6, 9], "1": [1, 4, 7], "2": [2, 5, 8]}
    assert {index: found.rows for index, found in written.items()} == {0: 4, 1: 3, 2: 3}


def test_tables_without_rows_are_absent(spark, plan):
    rows = spark.createDataFrame([(1, 2)], f"a long, `{TABLE}` int")
    assert set(fan_out(rows, plan()).written) == {2}


def test_no_rows_leave_nothing(spark, plan, stored):
    rows = spark.createDataFrame([], f"a long, `{TABLE}` int")
    assert (fan_out(rows, plan()), stored()) == (FanOut(written={}), {})


class Doubling:
    """A stage that doubles `a` and notes how many rows passed."""

    def __init__(self):
        self.passed = 0

    def __call__(self, batches):
        for batch in batches:
            self.passed += batch.num_rows
            doubled = pc.multiply(batch["a"], 2)
            yield pa.RecordBatch.from_arrays([doubled, batch[TABLE]], names=["a", TABLE])

    def notes(self):
        return [str(self.passed)]


def test_a_stage_has_the_last_hand_on_rows_and_notes_what_it_saw(spark, plan, stored):
    rows = spark.createDataFrame([(i, 1) for i in range(6)], f"a long, `{TABLE}` int")
    done = fan_out(rows.repartition(2), plan(), Doubling)
    assert stored() == {"1": [0, 2, 4, 6, 8, 10]}
    assert sum(int(note) for note in done.notes) == 6


def test_a_partition_is_told_with_each_file(spark, plan):
    rows = spark.createDataFrame([(1, 0)], f"a long, `{TABLE}` int")
    (file,) = fan_out(rows, plan(partition="day=2026-11-21")).written[0].files
    assert file.partition == {"day": "2026-11-21"}


def test_questions_of_one_task_leave_no_file_of_another(spark, plan, stored):
    rows = spark.createDataFrame(
        [(i, 0, "game=chess" if i in {1, 2} else None) for i in range(4)],
        f"a long, `{TABLE}` int, `{UNRESOLVED}` string",
    )
    with pytest.raises(UnresolvedError) as caught:
        fan_out(rows.repartition(4), plan())
    assert (caught.value.questions, stored()) == ({"game=chess"}, {})
