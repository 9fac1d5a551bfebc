import pytest
from pyspark.sql import functions as F

from lake_assets.silver.catalyst_to_arrow import defined_below
from lake_assets.silver.null_propagation import is_null_with_any
from lake_assets.spark.conditions import without_ansi
from lake_assets.spark.jvm import analyzed_plan, each

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a", True),
        ("a as b", True),
        ("upper(s)", True),
        ("a / 2d + c", True),
        ("cast(a as bigint) * c", True),
        ("nested.x", True),
        ("a > 3", True),
        ("1 as one", True),
        ("coalesce(a, 7)", False),
        ("a is null", False),
        ("if(a > 3, c, 0)", False),
        ("cast(a as string) || s", False),  # it is null, and Spark does not say so
        ("concat_ws('-', s, 'x')", False),
        ("a <=> c", False),
        ("a > 3 or c > 3", False),
        ("named_struct('a', a)", False),
        ("array(a, c)", False),
    ],
)
def test_what_is_said_to_be_null_with_any_column_is(spark, sql, expected):
    kind = "a int, c int, s string, nested struct<x: int>"
    names = ("a", "c", "s", "nested")
    whole = {"a": 5, "c": 6, "s": "t", "nested": (1,)}
    with without_ansi(spark):
        rows = spark.createDataFrame([], kind)
        plan = analyzed_plan(rows.selectExpr(sql))
        (expression,) = each(plan.projectList())
        found = is_null_with_any(expression, defined_below(plan, rows))
        read = {str(one.name()) for one in each(expression.references())}
        holds = [
            spark.createDataFrame([tuple((whole | {name: None})[n] for n in names)], kind)
            .select(F.expr(sql).isNull())
            .first()[0]
            for name in sorted(read)
        ]
    assert found is expected
    assert not found or all(holds)
