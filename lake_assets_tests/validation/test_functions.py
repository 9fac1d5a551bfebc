import re

import pytest

from lake_assets.validation.functions import known_functions


def test_the_list_has_what_feeds_use():
    names = {"count", "approx_count_distinct", "date_trunc", "timestampdiff", "cast", "transform"}
    assert names <= known_functions()
    assert "coutn" not in known_functions()


@pytest.mark.spark
def test_the_list_is_that_of_spark(spark):
    """After an upgrade: `SHOW ALL FUNCTIONS`, its names, into `spark_functions.txt`."""
    rows = spark.newSession().sql("show system functions").collect()
    names = {row[0] for row in rows if re.fullmatch(r"[a-z_][a-z0-9_]*", row[0])}
    assert names - known_functions() == set()
