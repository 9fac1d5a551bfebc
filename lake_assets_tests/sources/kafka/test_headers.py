import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from lake_assets.sources.kafka.headers import TYPE, from_text, to_text

ROWS = [
    [("a", b"\x00\xff"), ("b", None)],
    None,
    [],
    [("a", b""), ("a", 'ö"\n'.encode())],
    [(None, b"1")],
]


@pytest.mark.spark
def test_headers_come_back_as_they_were(spark):
    rows = spark.createDataFrame(
        [(i, headers) for i, headers in enumerate(ROWS)],
        "i int, h array<struct<key string, value binary>>",
    )
    texts = rows.orderBy("i").select(to_text(F.col("h")).alias("t")).toArrow()["t"]
    assert from_text(texts.combine_chunks()).to_pylist() == [
        None if headers is None else [{"key": k, "value": v} for k, v in headers]
        for headers in ROWS
    ]


@pytest.mark.parametrize("texts", [[], [None], [None, None]])
def test_no_headers_at_all_have_the_type_too(texts):
    found = from_text(pa.array(texts, pa.string()))
    assert (found.type, found.to_pylist()) == (TYPE, texts)
