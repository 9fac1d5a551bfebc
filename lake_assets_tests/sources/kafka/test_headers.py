import pyarrow as pa
import pytest

from lake_assets.sources.kafka.headers import TYPE, from_text
from lake_assets.sources.kafka.stream import with_header_texts

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
        [(i, headers, None) for i, headers in enumerate(ROWS)],
        "offset int, headers array<struct<key string, value binary>>, timestamp timestamp",
    )
    texts = with_header_texts(rows).orderBy("offset").toArrow()["headers"]
    assert from_text(texts.combine_chunks()).to_pylist() == [
        None if headers is None else [{"key": k, "value": v} for k, v in headers]
        for headers in ROWS
    ]


@pytest.mark.parametrize("texts", [[], [None], [None, None]])
def test_no_headers_at_all_have_the_type_too(texts):
    found = from_text(pa.array(texts, pa.string()))
    assert (found.type, found.to_pylist()) == (TYPE, texts)
