import pyarrow as pa
import pytest

from lake_assets.errors import FeedError
from lake_assets.model.expectations import Expectation
from lake_assets.silver.expectation_columns import MARKS_PER_COLUMN, Reading
from lake_assets.silver.expectation_marks import marks, reading_of

pytestmark = pytest.mark.spark

KNOWN = Expectation(name="known", sql="gamer <> ''")
YOUNG = Expectation(name="young", sql="level < 10")
NEAR = Expectation(name="near", sql="place.x < level")

SCHEMA = pa.schema(
    [
        ("gamer", pa.string()),
        ("level", pa.int32()),
        ("place", pa.struct([("x", pa.int32()), ("y", pa.int32())])),
        ("tags", pa.list_(pa.string())),
        ("light", pa.float64()),
    ]
)


@pytest.fixture
def rows(spark):
    return spark.createDataFrame(
        [("ann", 1), ("", 2), (None, None), ("", 99)], "gamer string, level int"
    )


def test_a_bit_is_set_for_each_expectation_that_a_row_violates_and_null_violates(rows):
    found = rows.select(*marks([KNOWN, YOUNG])).toArrow()
    assert found.to_pydict() == {"#marks_0": [0b00, 0b01, 0b11, 0b11]}
    assert found.schema.field(0).type == pa.int64()


def test_more_expectations_than_bits_take_another_column(rows):
    many = [
        Expectation(name=f"is_not_{i}", sql=f"level <> {i}") for i in range(MARKS_PER_COLUMN + 38)
    ]
    found = rows.select(*marks(many)).toArrow().to_pydict()
    assert found["#marks_0"][:2] == [1 << 1, 1 << 2]
    assert found["#marks_1"][3] == 1 << (99 - MARKS_PER_COLUMN)


def test_conditions_over_one_column_read_its_distinct_values(spark):
    assert reading_of(spark, SCHEMA, [YOUNG, KNOWN]) == Reading(
        row_bits=(0,), by_value=("gamer", "level"), value_bits=((0b10,), (0b01,))
    )


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("place.x < level", ("level", "place")),  # two columns
        ("light > 0.5", ("light",)),  # few equal values
        ("size(tags) < 3", ("tags",)),  # no plain value
        ("level > rand()", ("level",)),  # another answer each time
        ("true", ("gamer",)),  # none, but a row must travel
    ],
)
def test_other_conditions_are_judged_row_by_row(spark, sql, columns):
    wide = Expectation(name="wide", sql=sql)
    assert reading_of(spark, SCHEMA, [wide]) == Reading(by_row=columns, row_bits=(1,))


def test_a_column_that_travels_by_row_for_one_does_so_for_all(spark):
    found = reading_of(spark, SCHEMA, [KNOWN, NEAR, YOUNG])
    assert found == Reading(
        by_row=("level", "place"),
        row_bits=(0b110,),
        by_value=("gamer",),
        value_bits=((0b001,),),
    )


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        (
            "gamre <> ''",
            r"does not compile .*`gamre`.*columns are gamer, level, place, tags",
        ),
        ("gamer <>", "does not compile"),
        ("level", "is int, not a boolean"),
        ("null", "is void, not a boolean"),
        ("exists(select 1)", "needs more than its own row"),
        ("max(level) > 1", "needs more than its own row"),
        ("row_number() over (order by level) > 1", "needs more than its own row"),
        ("explode(array(true))", "needs more than its own row"),
    ],
)
def test_sql_that_cannot_judge_a_row_is_refused(spark, sql, complaint):
    wrong = Expectation(name="typo", sql=sql)
    with pytest.raises(FeedError, match=f"expectation 'typo': {complaint}"):
        reading_of(spark, SCHEMA, [KNOWN, wrong])


@pytest.mark.parametrize("sql", ["exists(tags, t -> t = 'a')", "level < 1 or place.y > 2"])
def test_sql_over_one_row_is_taken(spark, sql):
    reading_of(spark, SCHEMA, [Expectation(name="fine", sql=sql)])
