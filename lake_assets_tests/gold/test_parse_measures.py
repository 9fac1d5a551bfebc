import pytest
from pyspark.errors import ParseException

from lake_assets.gold.measures import Call
from lake_assets.gold.parse_measures import call_of


@pytest.mark.spark
@pytest.mark.parametrize(
    ("sql", "function", "arguments", "more"),
    [
        ("count(*)", "count", ["1"], {}),
        ("COUNT(1)", "count", ["1"], {}),
        ("`sum`((a + b) * c)", "sum", ["(a + b) * c"], {}),
        ("avg( /* of */ a -- b\n )", "avg", ["a"], {}),
        ("max_by(a.b['x)'], -c)", "max_by", ["a.b['x)']", "-c"], {}),
        ("sum(if(x = '🎲,é', `we ird`, 0))", "sum", ["if(x = '🎲,é', `we ird`, 0)"], {}),
        ("sum(x) filter (where y > 1)", "sum", ["x"], {"where": "y > 1"}),
        ("sum(x) filter (where y in (1, 2))", "sum", ["x"], {"where": "(y IN (1, 2))"}),
        ("count(distinct a)", "count", ["a"], {"is_distinct": True}),
        ("sum(transform(a, z -> z + 1)[0])", "sum", ["transform(a, z -> z + 1)[0]"], {}),
    ],
)
def test_a_call_is_its_function_and_the_text_of_its_arguments(
    spark, sql, function, arguments, more
):
    assert call_of(spark, sql) == Call(function=function, arguments=tuple(arguments), **more)


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "sum(a) / count(*)",
        "'text'",
        "a",
        "sum(a) over (partition by b)",
        "percentile_cont(0.5) within group (order by a)",
        "first(a) ignore nulls",
        "sum(x => 3)",
        "sum(a) as b",
        "system.builtin.sum(a)",
    ],
)
def test_anything_else_is_no_call(spark, sql):
    assert call_of(spark, sql) is None


@pytest.mark.spark
def test_what_is_no_sql_is_an_error(spark):
    with pytest.raises(ParseException):
        call_of(spark, "count(")
