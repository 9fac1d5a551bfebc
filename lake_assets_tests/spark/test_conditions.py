import pytest
from pyspark.errors import AnalysisException

from lake_assets.spark.conditions import first_line, holds


@pytest.mark.spark
def test_the_complaint_is_one_line_that_names_the_column(spark):
    with pytest.raises(AnalysisException) as problem:
        spark.range(1).selectExpr("id + nothing")
    complaint = first_line(problem.value)
    assert "`nothing`" in complaint
    assert len(complaint.splitlines()) == 1


@pytest.mark.spark
def test_holds_is_never_null(spark):
    rows = spark.createDataFrame(
        [("ann", 1), ("", 2), (None, None), ("", 99)], "gamer string, level int"
    )
    assert rows.select(holds("level < 10").alias("it")).toArrow()["it"].to_pylist() == [
        True,
        True,
        False,
        False,
    ]
