import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from lake_assets.model.expectations import Expectation
from lake_assets.silver.expectation_columns import MARKS_PER_COLUMN, evaluated_columns, returned
from lake_assets.silver.expectation_marks import marks, reading_of

pytestmark = pytest.mark.spark

NAMES = ["ann", "bob", "", None, "dora"]

ROWS = [
    {"id": i, "gamer": NAMES[i % 5], "level": i % 7 if i % 11 else None, "share": i / 100}
    for i in range(300)
]

SCHEMA = pa.schema(
    [("id", pa.int64()), ("gamer", pa.string()), ("level", pa.int64()), ("share", pa.float64())]
)

CONDITIONS = {
    "gamer <> ''": lambda row: bool(row["gamer"]),
    "length(gamer) = 3": lambda row: row["gamer"] is not None and len(row["gamer"]) == 3,
    "gamer is null": lambda row: row["gamer"] is None,
    "level between 1 and 5": lambda row: row["level"] is not None and 1 <= row["level"] <= 5,
    "share < 2.5": lambda row: row["share"] < 2.5,
    "share < level": lambda row: row["level"] is not None and row["share"] < row["level"],
    "false": lambda _: False,
}


def violated(spark, conditions, rows=ROWS):
    """By row's id, the expectations that it violates, as the two stages find it."""
    rules = [Expectation(name=f"rule_{i}", sql=sql) for i, sql in enumerate(conditions)]
    reading = reading_of(spark, SCHEMA, rules)
    count = len(rules)

    def end(batches):
        for batch, found in returned(batches, reading):
            sets = [
                [n for n in range(count) if found and found[n // 62][row] >> (n % 62) & 1]
                for row in range(batch.num_rows)
            ]
            yield pa.RecordBatch.from_pydict({"id": batch["id"], "violated": sets})

    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    seen = from_arrow_schema(pa.schema([SCHEMA.field(name) for name in reading.columns]))
    travelled = (
        spark.createDataFrame(table)
        .repartition(2)
        .mapInArrow(lambda batches: evaluated_columns(batches, reading), seen)
    )
    made = travelled.select(*marks(rules)).mapInArrow(end, "id long, violated array<long>")
    return travelled.count(), {r["id"]: r["violated"] for r in made.toArrow().to_pylist()}


def expected(conditions, rows=ROWS):
    return {
        row["id"]: [n for n, sql in enumerate(conditions) if not CONDITIONS[sql](row)]
        for row in rows
    }


@pytest.mark.parametrize(
    "conditions",
    [
        list(CONDITIONS),
        [sql for sql in CONDITIONS if "share" not in sql and sql != "false"],
        ["share < 2.5"],
        ["false"],
        ["gamer <> ''", "share < 2.5"],
    ],
    ids=["all", "by value", "by row", "no column", "both"],
)
def test_marks_are_those_of_each_row(spark, conditions):
    _, found = violated(spark, conditions)
    assert found == expected(conditions)


def test_conditions_over_one_column_send_its_distinct_values_alone(spark):
    travelled, found = violated(spark, ["gamer <> ''", "level between 1 and 5"])
    assert travelled <= 2 * 8
    assert len(found) == len(ROWS)


def test_rows_that_all_pass_have_no_marks(spark):
    passing = [row for row in ROWS if row["gamer"] == "ann"]
    _, found = violated(spark, ["gamer <> ''", "length(gamer) = 3"], passing)
    assert set(map(tuple, found.values())) == {()}


def test_more_expectations_than_bits(spark):
    conditions = ["gamer <> ''", "share < 2.5", "level between 1 and 5"] * 30
    assert len(conditions) > MARKS_PER_COLUMN
    _, found = violated(spark, conditions)
    assert found == expected(conditions)
