import pytest
from pyspark.sql import functions as F

from lake_assets.spark.determinism import asks_session, is_repeatable

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def columns():
    return "a string, t timestamp, d date, n bigint, l array<int>"


@pytest.fixture
def rows(spark, columns):
    return spark.createDataFrame([], columns)


@pytest.mark.parametrize(
    "sql",
    [
        "a",
        "date_trunc('hour', t)",
        "t > timestamp '2026-01-01 00:00:00'",
        "to_date('2026-01-01') < d",
        "a = 'now'",
        "concat('date', 'today')",
    ],
)
def test_what_depends_on_rows_alone_is_repeatable(rows, sql):
    assert is_repeatable(rows.select(F.expr(sql)), [sql])


@pytest.mark.parametrize(
    "sql",
    [
        "rand()",
        "rand(7)",
        "uuid()",
        "uniform(0, 10)",
        "randstr(5)",
        "shuffle(l)",
        "monotonically_increasing_id()",
        "spark_partition_id()",
        "input_file_name()",
        "reflect('java.lang.System', 'nanoTime')",
    ],
)
def test_chance_and_the_place_of_a_row_are_not_repeatable(rows, sql):
    frame = rows.select(F.expr(sql))
    assert not is_repeatable(frame, [sql])
    assert not asks_session(frame, [sql])


@pytest.mark.parametrize(
    "sql",
    [
        "current_timestamp()",
        "CURRENT_DATE",
        "now() > t",
        "curdate()",
        "localtimestamp()",
        "current_time()",
        "unix_timestamp()",
        "datediff(current_date, d)",
        "current_user()",
        "session_user",
        "current_database()",
        "cast('today' as date)",
        "to_date('yesterday')",
        "t > 'now'",
        "date'today'",
        'TIMESTAMP "now" > t',
        "transform(l, x -> x + unix_timestamp())",
    ],
)
def test_the_clock_and_the_session_are_not_repeatable(rows, sql):
    frame = rows.select(F.expr(sql))
    assert asks_session(frame, [sql])
    assert not is_repeatable(frame, [sql])


def test_a_column_with_the_name_of_a_function_is_a_column(spark):
    rows = spark.createDataFrame([], "current_date date, user string")
    assert is_repeatable(rows.select(F.expr("current_date"), F.expr("user")), [])


def test_an_aggregate_is_asked_about_with_its_filter_and_its_keys(rows):
    plain = rows.groupBy("a").agg(F.expr("count(*) filter (where t < '2026-01-01')"))
    assert is_repeatable(plain, [])
    assert not is_repeatable(rows.groupBy("a").agg(F.expr("count_if(t > now())")), [])
    assert not is_repeatable(rows.groupBy(F.expr("rand()")).agg(F.expr("count(*)")), [])
