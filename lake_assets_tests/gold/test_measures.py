import numpy as np
import pyspark.sql.types as T  # noqa: N812 - as every Spark guide writes it
import pytest
from pyspark.sql import functions as F

from lake_assets.gold.measures import Call, CannotMergeError, mergeable

NUMBER = T.DoubleType()


def call(function, *arguments, **more):
    return Call(function=function, arguments=arguments, **more)


@pytest.mark.parametrize(
    ("made", "kind", "reason"),
    [
        (call("count", "x", is_distinct=True), NUMBER, "distinct values"),
        (call("mode", "x"), NUMBER, "mode cannot be merged"),
        (call("collect_set", "x"), T.ArrayType(NUMBER), "collect_set cannot be merged"),
        (call("avg", "x"), T.DayTimeIntervalType(), "average of type interval"),
        (call("min_by", "x", "y", "2"), T.ArrayType(NUMBER), "min_by with 3 arguments"),
        (call("percentile", "x", "0.5", "n"), NUMBER, "percentile with 3 arguments"),
        (call("approx_percentile", "at", "0.5"), T.TimestampType(), "numbers, not timestamp"),
        (call("median", "x"), T.DayTimeIntervalType(), "numbers, not interval"),
        (call("approx_count_distinct", "x", "y"), T.LongType(), "its error y is no plain number"),
    ],
)
def test_what_does_not_merge_says_why(made, kind, reason):
    with pytest.raises(CannotMergeError, match=reason):
        mergeable(made, kind)


@pytest.mark.parametrize(
    ("function", "merge"),
    [("count", "sum"), ("sum", "sum"), ("min", "min"), ("max", "max"), ("bool_or", "max")],
)
def test_a_value_that_is_its_state_needs_no_other(function, merge):
    found = mergeable(call(function, "x"), NUMBER)
    assert (found.of_rows, found.of_states("s"), found.value) == (
        f"{function}(x)",
        f"{merge}(s)",
        None,
    )


def test_a_condition_holds_for_every_part_of_a_state():
    found = mergeable(call("avg", "x", where="y > 1"), NUMBER)
    assert found.of_rows.count("filter (where y > 1)") == 2


@pytest.mark.parametrize(
    ("error", "registers"), [("0.05", 9), ("0.016", 13), ("9", 4), ("1e-9", 21)]
)
def test_an_asked_error_sets_the_number_of_registers(error, registers):
    found = mergeable(call("approx_count_distinct", "x", error), T.LongType())
    assert f", {registers})" in found.of_rows


def merged(spark, made, kind, parts):
    """The value of some parts' rows (`x`, `y`), each aggregated alone and then merged."""
    found = mergeable(made, kind)
    rows = spark.createDataFrame(
        [(part, x, y) for part, rows in enumerate(parts) for x, y in rows],
        "part int, x double, y double",
    )
    states = rows.groupBy("part").agg(F.expr(found.of_rows).alias("s"))
    state = states.agg(F.expr(found.of_states("s")).alias("s"))
    return state.select(F.expr(found.value("s") if found.value else "s")).first()[0]


@pytest.mark.spark
def test_a_spread_is_merged_without_losing_digits(spark):
    rng = np.random.default_rng(1)
    x = 1e9 + rng.random(600)
    parts = [[(float(v), 0.0) for v in part] for part in (x[:5], x[5:500], x[500:])]
    found = merged(spark, call("stddev", "x"), NUMBER, parts)
    assert found == pytest.approx(float(np.std(x, ddof=1)), rel=1e-6)


@pytest.mark.spark
@pytest.mark.parametrize("function", ["stddev", "var_pop", "avg", "median", "max_by", "sum"])
def test_of_nulls_alone_nothing_is_told(spark, function):
    arguments = ("x", "y") if function == "max_by" else ("x",)
    parts = [[(None, None), (None, None)], [(None, None)]]
    assert merged(spark, call(function, *arguments), NUMBER, parts) is None


@pytest.mark.spark
def test_one_value_has_no_sample_deviation_and_no_spread(spark):
    parts = [[(3.0, 0.0)], [(None, 0.0)]]
    assert merged(spark, call("stddev_samp", "x"), NUMBER, parts) is None
    assert merged(spark, call("stddev_pop", "x"), NUMBER, parts) == 0


@pytest.mark.spark
def test_rows_without_an_order_are_nobodys_best(spark):
    parts = [[(1.0, None)], [(None, 2.0), (7.0, 3.0)]]
    assert merged(spark, call("min_by", "x", "y"), NUMBER, parts) is None
    assert merged(spark, call("max_by", "x", "y"), NUMBER, parts) == 7


@pytest.mark.spark
def test_sketches_stay_within_their_bounds_however_often_they_merge(spark):
    rng = np.random.default_rng(2)
    x = rng.lognormal(0, 2, 60_000).round(4)
    rows = spark.createDataFrame(
        [(int(i % 50), float(v)) for i, v in enumerate(x)], "part int, x double"
    )
    share = mergeable(call("percentile", "x", "0.9"), NUMBER)
    distinct = mergeable(call("approx_count_distinct", "x"), T.LongType())
    states = rows.groupBy("part").agg(
        F.expr(share.of_rows).alias("a"), F.expr(distinct.of_rows).alias("b")
    )
    # In two steps, as by one refresh after another.
    states = states.groupBy(F.expr("part % 7")).agg(
        F.expr(share.of_states("a")).alias("a"), F.expr(distinct.of_states("b")).alias("b")
    )
    merged = states.agg(
        F.expr(share.of_states("a")).alias("a"), F.expr(distinct.of_states("b")).alias("b")
    )
    assert share.value
    assert distinct.value
    value, number = merged.select(F.expr(share.value("a")), F.expr(distinct.value("b"))).first()
    assert abs(np.mean(x <= value) - 0.9) <= 0.007
    assert abs(number / len(np.unique(x)) - 1) <= 3 * 0.01625
