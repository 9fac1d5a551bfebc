from pathlib import Path

import pyarrow as pa
import pytest
from pyspark import SparkFiles
from pyspark.errors import PythonException
from pyspark.sql import functions as F

from lake_assets.spark.batch_spill import receive, send

pytestmark = pytest.mark.spark

ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"

OUT = "kept long, made long, batch int"


def meet(batches):
    """What both halves say of each row, and how many rows its batch had."""
    for kept, made in receive(batches):
        assert kept.num_rows == made.num_rows
        size = pa.array([kept.num_rows] * kept.num_rows, pa.int32())
        yield pa.RecordBatch.from_arrays(
            [kept["heavy"], made["made"], size], names=["kept", "made", "batch"]
        )


def spilled(rows, between, first=lambda batches: batches):
    def pairs(batches):
        return ((batch, batch.select(["light"])) for batch in first(batches))

    evaluated_columns = rows.mapInArrow(lambda batches: send(pairs(batches)), "light long")
    return between(evaluated_columns).mapInArrow(meet, OUT).toArrow().to_pylist()


def double(rows):
    return rows.select((F.col("light") * 2).alias("made"))


@pytest.fixture
def rows(spark):
    numbers = spark.range(1000, numPartitions=2)
    return numbers.select(F.col("id").alias("light"), (F.col("id") + 7).alias("heavy"))


def test_what_stayed_and_what_travelled_meet_again(rows):
    found = spilled(rows, double)
    assert sorted(row["kept"] for row in found) == list(range(7, 1007))
    assert all(row["made"] == 2 * (row["kept"] - 7) for row in found)


def test_batches_that_the_jvm_sliced_in_another_way_still_meet(rows, spark):
    def halves(batches):
        for batch in batches:
            middle = batch.num_rows // 3
            yield batch.slice(0, middle)
            yield batch.slice(middle)

    before = spark.conf.get(ROWS)
    spark.conf.set(ROWS, "100")
    try:
        found = spilled(rows, double, halves)
    finally:
        spark.conf.set(ROWS, before)
    assert {row["batch"] for row in found} == {33, 67}
    assert sorted(row["made"] for row in found) == list(range(0, 2000, 2))
    assert all(row["made"] == 2 * (row["kept"] - 7) for row in found)


def test_what_travels_may_have_another_number_of_rows(rows):
    def sums(batches):
        for batch in batches:
            total = pa.array([sum(batch["light"].to_pylist())])
            yield batch, pa.RecordBatch.from_arrays([total], names=["light"])

    def compare(batches):
        for kept, made in receive(batches):
            yield pa.RecordBatch.from_pydict(
                {"kept": [sum(kept["light"].to_pylist())], "made": made["made"]}
            )

    evaluated_columns = rows.mapInArrow(lambda batches: send(sums(batches)), "light long")
    found = (
        double(evaluated_columns).mapInArrow(compare, "kept long, made long").toArrow().to_pylist()
    )
    assert sum(row["kept"] for row in found) == sum(range(1000))
    assert all(row["made"] == 2 * row["kept"] for row in found)


def test_no_rows_are_no_rows(rows):
    assert spilled(rows.where("light < 0"), double) == []


def test_nothing_is_left_beside_the_tasks(rows):
    def folders():
        return set(Path(SparkFiles.getRootDirectory()).glob("spill-*"))

    before = folders()
    spilled(rows, double)
    assert folders() == before


@pytest.mark.parametrize(
    "between",
    [
        lambda rows: double(rows.where("light <> 500")),
        lambda rows: double(rows.where("light < 0")),
    ],
)
def test_rows_lost_on_their_way_are_an_error(rows, between):
    with pytest.raises(PythonException, match="rows were lost between two stages"):
        spilled(rows, between)


def test_spilling_outside_of_a_task_is_an_error():
    batch = pa.RecordBatch.from_pydict({"light": [1]})
    with pytest.raises(RuntimeError, match="in a Spark task only"):
        next(send([(batch, batch)]))
