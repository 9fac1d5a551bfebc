import io
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lake_assets.parquet.bloom_filters import (
    bloom_options,
    bloomed_columns,
    rules_out,
    with_bloom_filters,
)

KINDS: dict[str, tuple[pa.DataType, list]] = {
    "text": (pa.string(), [f"gamer {number}" for number in range(4_000)]),
    "number": (pa.int64(), [number * 7919 - 10_000 for number in range(4_000)]),
    "short": (pa.int16(), [number - 2_000 for number in range(4_000)]),
    "raw": (pa.binary(), [bytes([number % 251, number // 251]) for number in range(4_000)]),
}
ELSE: dict[str, Any] = {"text": "nobody {}", "number": 10**12, "short": 9_000, "raw": b"\xff\xff%d"}


def written(name, path=None):
    kind, values = KINDS[name]
    schema = with_bloom_filters(pa.schema([(name, kind)]), [name], len(values))
    target = path or io.BytesIO()
    rows = pa.table({name: pa.array(values, kind)})
    pq.write_table(rows, target, bloom_filter_options=bloom_options(schema))
    return target


def chunk_of(file):
    return pq.read_metadata(file).row_group(0).column(0)


def absent(name):
    like = ELSE[name]
    if isinstance(like, int):
        return [like + number for number in range(1_000)]
    if isinstance(like, bytes):
        return [like % number for number in range(1_000)]
    return [like.format(number) for number in range(1_000)]


@pytest.mark.parametrize("name", KINDS)
def test_what_is_there_is_never_ruled_out_and_the_rest_mostly(name):
    file = written(name)
    kind, values = KINDS[name]
    chunk = chunk_of(file)
    assert bloomed_columns(pq.read_metadata(file)) == (name,)
    assert not any(rules_out(file, chunk, pa.array([value], kind)) for value in values[::7])
    missed = [rules_out(file, chunk, pa.array([value], kind)) for value in absent(name)]
    assert sum(missed) > 950  # 1 % are not
    assert rules_out(file, chunk, pa.array([], kind))
    assert not rules_out(file, chunk, pa.array([*absent(name)[:5], values[5]], kind))


def test_another_reader_reads_the_same_filter(tmp_path):
    path = written("text", tmp_path / "one.parquet")
    chunk = chunk_of(path)
    wanted = [*KINDS["text"][1][:50], *absent("text")[:300]]
    query = "SELECT bloom_filter_excludes FROM parquet_bloom_probe(?, 'text', ?)"
    with duckdb.connect() as reader:
        rows = [reader.execute(query, [str(path), one]).fetchall() for one in wanted]
    theirs = [is_excluded for ((is_excluded,),) in rows]
    assert theirs == [rules_out(str(path), chunk, pa.array([value])) for value in wanted]


@settings(max_examples=60)
@given(st.binary(max_size=40), st.integers(0, 20))
def test_a_filter_that_is_no_such_rules_nothing_out(junk, cut):
    file = written("text")
    chunk = chunk_of(file)
    whole = bytearray(file.getvalue())
    start = chunk.bloom_filter_offset
    whole[start : start + cut] = (junk + b"\0" * cut)[:cut]
    nobody = pa.array(["nobody at all"])
    is_whole = whole == file.getvalue()
    is_told = rules_out(io.BytesIO(bytes(whole)), chunk, nobody)
    assert is_told == is_whole or cut > 15  # what follows the header are the bits


def test_a_column_without_a_filter_may_have_anything():
    file = io.BytesIO()
    pq.write_table(pa.table({"text": ["ann"]}), file)
    assert not rules_out(file, chunk_of(file), pa.array(["bob"]))
    assert bloomed_columns(pq.read_metadata(file)) == ()


def test_only_columns_that_can_have_filters_get_some():
    schema = pa.schema([("text", pa.string()), ("share", pa.float64())])
    declared = with_bloom_filters(schema, ["text", "share", "missing"], 10)
    assert declared == schema
    assert bloom_options(declared) == {"text": {"ndv": 10, "fpp": 0.01}}
    assert bloom_options(schema) is None
