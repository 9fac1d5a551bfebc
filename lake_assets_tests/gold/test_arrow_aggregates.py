import math
from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from lake_assets.gold.arrow_aggregates import NotMergeableError
from lake_assets.gold.arrow_mergeable import arrow_aggregates_of
from lake_assets.gold.compiled_view import BUCKET, compiled_view_of
from lake_assets.model.expectations import Expectation
from lake_assets.model.gold_views import GoldView
from lake_assets_tests.sample import GAMES

SILVER = pa.schema(
    [
        ("game_name", pa.string()),
        ("who", pa.string()),
        ("level", pa.int32()),
        ("coins", pa.int64()),
        ("speed", pa.float64()),
        ("pace", pa.float32()),
        ("won", pa.bool_()),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("price", pa.decimal128(9, 2)),
        ("a b", pa.int64()),
    ]
)
NAN, INF = math.nan, math.inf
ROWS = [
    # who, level, coins, speed, pace, won, day, at, price, a b
    ("ann", 1, 5, 1.5, 0.5, True, 3, 7, 1, 1),
    ("ann", -2, None, -0.0, None, None, None, None, None, None),
    ("bob", None, 2**40, NAN, 1.0, False, -3, -9, 2, 2),
    (None, 2**31 - 1, -7, INF, -2.0, None, 0, 0, None, 3),
    ("", 0, 0, None, None, None, 1, 1, 3, 4),
    ("z\u00e9", None, None, None, NAN, True, None, 5, None, None),
    ("Ann", 3, 1, -INF, 0.25, False, 2, 10**15, 9, 5),
]


def silver(*numbers):
    return pa.Table.from_pylist(
        [dict(zip(SILVER.names, ("uno", *ROWS[number]), strict=True)) for number in numbers],
        schema=SILVER,
    )


def view_of(*, keys=("who",), expectations=(), **measures):
    return GoldView(name="v", keys=keys, measures=measures, expectations=expectations)


@pytest.fixture
def computed(spark):
    """A view of some rows, by Spark; and the same over nothing for its columns."""

    def compute(view, rows):
        compiled_view = compiled_view_of(spark, GAMES, view, SILVER)
        states = compiled_view.states_of(spark.createDataFrame(rows))
        found = compiled_view.finished(states.selectExpr("*", f"0 as `{BUCKET}`")).toArrow()
        return found.select(compiled_view.columns.names).cast(compiled_view.columns)

    return compute


def comparable(table):
    """Sorted, and with a NaN that equals itself."""
    return sorted(repr(row) for row in table.to_pylist())


TAKEN = [
    "count(*)",
    "count(1)",
    "count(speed)",
    "COUNT(won)",
    "sum(level)",
    "sum(coins)",
    "sum(speed)",
    "sum(pace)",
    "min(who)",
    "max(who)",
    "min(level)",
    "max(coins)",
    "min(won)",
    "max(day)",
    "min(at)",
    "avg(level)",
    "avg(coins)",
    "avg(speed)",
    "avg(pace)",
    "max(`a b`)",
]


@pytest.mark.spark
@pytest.mark.parametrize("sql", TAKEN)
def test_new_rows_are_merged_as_spark_computes_all_of_them(computed, sql):
    view = view_of(n="count(*)", m=sql)
    before = computed(view, silver(0, 3, 4))
    aggregates = arrow_aggregates_of(view, before.schema)
    found = aggregates.merged([silver(1, 2), silver(5, 6, 0)], [before])
    assert found.schema == before.schema
    assert comparable(found) == comparable(computed(view, silver(0, 3, 4, 1, 2, 5, 6, 0)))


@pytest.mark.spark
@pytest.mark.parametrize("key", ["who", "level", "won", "day", "at", "`a b`"])
def test_any_plain_column_is_a_key(computed, key):
    view = view_of(keys={"k": key, "who": "who"}, n="count(*)")
    before = computed(view, silver(0, 1, 3))
    found = arrow_aggregates_of(view, before.schema).merged([silver(2, 4, 5, 6, 0)], [before])
    assert comparable(found) == comparable(computed(view, silver(0, 1, 3, 2, 4, 5, 6, 0)))


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "count(distinct who)",
        "count(who, level)",
        "count(*) filter (where won)",
        "count_if(won)",
        "sum(price)",
        "sum(coins + 1)",
        "sum(coins) + 1",
        "avg(price)",
        "min(speed)",
        "max(pace)",
        "min(price)",
        "max(upper(who))",
        "max_by(who, at)",
        "approx_count_distinct(who)",
        "stddev(coins)",
        "exact median(coins)",
    ],
)
def test_what_arrow_might_see_otherwise_is_sparks(computed, sql):
    view = view_of(n="count(*)", m=sql)
    assert arrow_aggregates_of(view, computed(view, silver(0)).schema) is None


@pytest.mark.spark
@pytest.mark.parametrize("key", ["to_date(at)", "speed", "price", "lower(who)"])
def test_a_key_that_is_computed_or_no_plain_value_is_sparks(computed, key):
    view = view_of(keys={"k": key}, n="count(*)")
    assert arrow_aggregates_of(view, computed(view, silver(0)).schema) is None


def columns(**kinds):
    return pa.schema([("who", pa.string()), *kinds.items()])


def test_rows_that_are_judged_are_sparks():
    view = view_of(n="count(*)", expectations=(Expectation(name="few", sql="n < 3"),))
    assert arrow_aggregates_of(view, columns(n=pa.int64())) is None


LONG = columns(m=pa.int64())


@pytest.mark.parametrize(
    ("sql", "kinds", "rows"),
    [
        ("sum(coins)", LONG, {"who": ["ann"] * 2, "coins": [2**61, 2**61]}),
        ("sum(coins)", LONG, {"who": ["ann"], "coins": [-(2**62)]}),
        ("max(coins)", LONG, {"who": ["ann"], "coins": pa.array([1], pa.int32())}),
        ("max(coins)", LONG, {"who": ["ann"]}),
        ("max(Coins)", LONG, {"who": ["ann"], "coins": [1]}),
        ("sum(coins)", LONG, {"who": ["ann"], "coins": ["1"]}),
        ("count(*)", LONG, {"who": [1]}),
        ("count(*)", LONG, {"Who": ["ann"]}),
    ],
)
def test_of_rows_that_the_view_does_not_know_only_spark_can_tell(sql, kinds, rows):
    aggregates = arrow_aggregates_of(view_of(m=sql), kinds)
    with pytest.raises(NotMergeableError):
        aggregates.merged([pa.table(rows)], [kinds.empty_table()])


def test_an_average_of_whole_numbers_is_sparks_where_doubles_would_round():
    state = pa.struct([("sum", pa.float64()), ("n", pa.int64())])
    kinds = columns(m=pa.float64(), _state_m=state)
    aggregates = arrow_aggregates_of(view_of(m="avg(coins)"), kinds)
    with pytest.raises(NotMergeableError):
        aggregates.merged([pa.table({"who": ["ann"], "coins": [2**53]})], [kinds.empty_table()])


def test_a_sum_that_may_overflow_with_what_there_was_is_sparks():
    aggregates = arrow_aggregates_of(view_of(m="sum(coins)"), LONG)
    had = pa.table({"who": ["ann"], "m": [2**61]}, schema=LONG)
    with pytest.raises(NotMergeableError):
        aggregates.merged([pa.table({"who": ["ann"], "coins": [1]})], [had])


def test_a_view_over_nothing_yet_is_that_of_its_new_rows():
    kinds = columns(day=pa.date32(), at=pa.timestamp("us", tz="UTC"))
    aggregates = arrow_aggregates_of(view_of(day="max(day)", at="min(at)"), kinds)
    at = datetime(2026, 11, 21, tzinfo=UTC)
    rows = {
        "who": ["ann"],
        "day": [date(2026, 11, 21)],
        "at": pa.array([at], kinds.field("at").type),
    }
    found = aggregates.merged([pa.table(rows)], [])
    assert found.to_pylist() == [{"who": "ann", "day": date(2026, 11, 21), "at": at}]
