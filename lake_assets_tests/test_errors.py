import pytest
from pyspark.errors import AnalysisException

from lake_assets.errors import first_line


@pytest.mark.parametrize(
    ("text", "first"),
    [("", ""), ("It is gone.", "It is gone"), ("\nfirst.\n\nsecond", "first")],
)
def test_an_error_is_put_into_a_sentence(text, first):
    assert first_line(ValueError(text)) == first


@pytest.mark.spark
def test_the_complaint_is_one_line_that_names_the_column(spark):
    with pytest.raises(AnalysisException) as problem:
        spark.range(1).selectExpr("id + nothing")
    complaint = first_line(problem.value)
    assert "`nothing`" in complaint
    assert len(complaint.splitlines()) == 1
