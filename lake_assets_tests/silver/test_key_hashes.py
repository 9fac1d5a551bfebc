from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lake_assets.silver.key_hashes import can_be_key, hash_keys, salted


def hashed(*columns, table=0):
    found = hash_keys([pa.chunked_array([column]) for column in columns])
    halves = (salted(half, table).tolist() for half in (found.high, found.low))
    return list(zip(*halves, strict=True)), found.is_known.tolist()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int8(), [-1, 0, 1]),
        (pa.int64(), [-(2**63), -1, 0, 2**63 - 1]),
        (pa.uint64(), [0, 2**63, 2**64 - 1]),
        (pa.bool_(), [True, False]),
        (pa.float32(), [0.0, 0.5, float("nan"), float("inf")]),
        (pa.float64(), [0.0, 1e300, float("nan"), float("-inf")]),
        (pa.decimal128(20, 2), [Decimal("1.50"), Decimal("-1.50"), Decimal(0)]),
        (pa.string(), ["", "a", "A", "a ", "é", "e\u0301", "a\0"]),
        (pa.binary(), [b"", b"\0", b"\0\0", b"\xff"]),
        (pa.date32(), [date(1970, 1, 1), date(2026, 11, 25)]),
        (pa.timestamp("us", tz="UTC"), [datetime(2026, 1, d, tzinfo=UTC) for d in (1, 2)]),
        (pa.timestamp("us"), [datetime(2026, 1, d) for d in (1, 2)]),  # noqa: DTZ001 - without
    ],
)
def test_values_that_differ_have_other_hashes_and_equal_ones_the_same(kind, values):
    assert can_be_key(kind)
    column = pa.array([*values, *values, None], kind)
    hashes, known = hashed(column)
    assert len(set(hashes[: len(values)])) == len(values)
    assert hashes[: len(values)] == hashes[len(values) : -1]
    assert known == [True] * (2 * len(values)) + [False]


def test_as_in_spark_zeros_are_one_value_and_so_are_nans():
    quiet, other = 0x7FF8000000000000, 0x7FF8000000000001
    bits = pa.array([quiet, other], pa.uint64()).to_numpy().view("float64")
    hashes, _ = hashed(pa.array([0.0, -0.0, *bits], pa.float64()))
    assert hashes[0] == hashes[1]
    assert hashes[2] == hashes[3]
    assert hashes[0] != hashes[2]


def test_a_null_in_any_column_makes_the_key_unknown():
    _, known = hashed(pa.array([1, None, 1]), pa.array(["a", "a", None]))
    assert known == [True, False, False]
    _, known = hashed(pa.nulls(2))
    assert known == [False, False]


def test_columns_and_tables_are_told_apart():
    ab, _ = hashed(pa.array(["a"]), pa.array(["b"]))
    ba, _ = hashed(pa.array(["b"]), pa.array(["a"]))
    joined, _ = hashed(pa.array(["ab"]), pa.array([""]))
    other, _ = hashed(pa.array(["a"]), pa.array(["b"]), table=1)
    assert len({*ab, *ba, *joined, *other}) == 4


@given(st.lists(st.tuples(st.integers(0, 3), st.text(max_size=3)), min_size=1))
def test_keys_of_two_columns_are_equal_when_both_values_are(rows):
    numbers, texts = zip(*rows, strict=True)
    hashes, _ = hashed(pa.array(numbers), pa.array(texts))
    assert len(set(hashes)) == len(set(rows))
    assert [hashes[0] == other for other in hashes] == [rows[0] == other for other in rows]


@pytest.mark.parametrize(
    "kind", [pa.struct([("a", pa.int32())]), pa.list_(pa.int32()), pa.map_(pa.string(), pa.int8())]
)
def test_nested_types_hold_no_keys(kind):
    assert not can_be_key(kind)
