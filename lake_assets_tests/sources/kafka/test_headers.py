import pyarrow as pa
import pytest

from lake_assets.sources.kafka.headers import TYPE, from_text, last_values
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


LAST: list[list[tuple[str, bytes | None]] | None] = [
    [("a", b"1"), ("b", b"2"), ("a", b"3")],
    [("a", b"1"), ("a", None)],
    [("a", None), ("a", b"")],
    None,
    [],
    [("b", b'{"key":"a","value":"eA=="}')],
    [('{"key":"a","value":"eA=="}', b"4")],
    [('x","value":"eA=="},{"key":"a', b"5")],
    [("a", b"\n\xff"), ("A", b"6")],
    [('ä"\\/\U0001f600.*', b"7"), ("a", b"8"), ("b", None)],
]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["a", "b", "c", 'ä"\\/\U0001f600.*', "."])
def test_the_last_header_of_a_name_is_found_in_texts_and_in_lists(spark, name):
    rows = spark.createDataFrame(
        [(i, headers, None) for i, headers in enumerate(LAST)],
        "offset int, headers array<struct<key string, value binary>>, timestamp timestamp",
    )
    texts = with_header_texts(rows).orderBy("offset").toArrow()["headers"].combine_chunks()
    wanted = [
        next((value for key, value in reversed(headers or ()) if key == name), None)
        for headers in LAST
    ]
    lists = from_text(texts)
    assert last_values(texts, name).to_pylist() == wanted
    assert last_values(lists, name).to_pylist() == wanted
    assert last_values(lists.slice(4), name).to_pylist() == wanted[4:]
    assert last_values(texts.slice(4), name).to_pylist() == wanted[4:]


def test_no_headers_have_no_values():
    for kind in (pa.string(), TYPE):
        assert last_values(pa.nulls(2, kind), "a").to_pylist() == [None, None]
