import pyarrow as pa
import pytest

from lake_assets.errors import FeedError
from lake_assets.model.feeds import Expectation
from lake_assets.silver.expect import MARKS_PER_COLUMN, columns_read, marks

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


def test_the_columns_that_are_read_are_found(spark):
    assert columns_read(spark, SCHEMA, [YOUNG, KNOWN]) == ["gamer", "level"]
    assert columns_read(spark, SCHEMA, [NEAR]) == ["level", "place"]
    assert columns_read(spark, SCHEMA, [Expectation(name="any", sql="true")]) == []


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("gamre <> ''", r"does not compile .*`gamre`.*columns are gamer, level, place, tags"),
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
        columns_read(spark, SCHEMA, [KNOWN, wrong])


@pytest.mark.parametrize("sql", ["exists(tags, t -> t = 'a')", "level < 1 or place.y > 2"])
def test_sql_over_one_row_is_taken(spark, sql):
    columns_read(spark, SCHEMA, [Expectation(name="fine", sql=sql)])
