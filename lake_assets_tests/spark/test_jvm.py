"""What we take of PySpark's internals, one test each: a release that moves one fails here."""

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StructField, StructType

from lake_assets.spark import jvm


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_spark_is_known_to_run():
    assert jvm.has_started()


@pytest.mark.spark
def test_the_parser_makes_trees_of_expressions(spark):
    parsed = jvm.sql_parser(spark).parseExpression("sum(x)")
    assert parsed.getClass().getSimpleName() == "UnresolvedFunction"


@pytest.mark.spark
def test_plans_are_analyzed_and_optimized(spark):
    frame = spark.range(3).selectExpr("id + 1 + 1 as n")
    assert "((id#" in jvm.analyzed_plan(frame).toString()
    assert "+ 2)" in jvm.optimized_plan(frame).toString()


@pytest.mark.spark
@pytest.mark.parametrize(("sql", "expected"), [("current_timestamp()", True), ("id", False)])
def test_what_stands_for_one_query_is_seen(spark, sql, expected):
    plan = jvm.analyzed_plan(spark.range(1).selectExpr(sql))
    plain = jvm.optimizer_rule(spark, "ReplaceExpressions").apply(plan)
    assert jvm.asks_for_current(spark, plain) is expected


def test_columns_are_the_same_in_arrow_and_spark():
    columns = StructType([StructField("n", LongType())])
    assert jvm.spark_schema(jvm.arrow_schema(columns)) == columns
    assert jvm.arrow_schema(columns) == pa.schema([("n", pa.int64())])


@pytest.mark.spark
def test_properties_of_an_application_are_read_back(spark):
    assert jvm.property_of(spark, "spark.app.name") == "lake_assets"
    assert jvm.property_of(spark, "spark.nobody.set.this") is None
    assert jvm.seconds_of(spark, "spark.nobody.set.this", "2min") == 120


@pytest.mark.spark
def test_a_driver_is_no_executor(spark):
    assert jvm.executors_of(spark) == 0
