import pytest

from lake_assets.spark.conditions import holds


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
