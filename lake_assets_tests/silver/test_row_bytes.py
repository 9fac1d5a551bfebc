"""How many bytes rows have, and how they are cut by it before their elements become rows."""

import pyarrow as pa
import pytest

from lake_assets.silver.arrow_evaluator import Column
from lake_assets.silver.explode_rows import elements_of, pieces
from lake_assets.silver.explosion import Explosion
from lake_assets.silver.row_bytes import row_bytes

EXPLOSION = Explosion(
    array=Column("xs"),
    holder="xs",
    columns=pa.schema([("x", pa.int64()), ("_element", pa.int32())]),
)

STRUCT = pa.struct({"a": pa.string(), "b": pa.list_(pa.string())})

XS = pa.array([[1, 2], None, [], [3] * 5, [4], [5, 6]], pa.list_(pa.int64()))


def rows(**more):
    return pa.RecordBatch.from_pydict({"xs": XS, **more})


def test_pieces_hold_whole_values():
    found = list(pieces(EXPLOSION, rows(), most_rows=3))
    assert found == [(0, 2), (2, 1), (3, 1), (4, 2)]
    for start, length in [(0, 6), *found]:
        made = elements_of(EXPLOSION, rows().slice(start, length))
        wanted = [x for one in XS.to_pylist()[start : start + length] for x in one or [None]]
        assert made.columns["x"].to_pylist() == wanted


@pytest.mark.parametrize(
    ("texts", "wanted"),
    [
        (["a"] * 6, [(0, 6)]),
        (["a" * 10, "b", "c", "d" * 10, None, "e" * 10], [(0, 3), (3, 1), (4, 2)]),
        (["a" * 90, "b", "c", "d", "e", "f" * 90], [(0, 1), (1, 4), (5, 1)]),
    ],
)
def test_pieces_are_cut_by_the_bytes_that_elements_repeat(texts, wanted):
    column = pa.array(texts, pa.string())
    assert list(pieces(EXPLOSION, rows(), [column], most_bytes=30)) == wanted
    headers = pa.array([[{"k": text}] if text else None for text in texts])
    assert list(pieces(EXPLOSION, rows(), [headers], most_bytes=30)) == wanted


def test_what_did_not_fit_is_beside_the_first_element():
    made = elements_of(EXPLOSION, rows(_rescued=list("abcdef")))
    wanted = ["a", None, "b", "c", "d", None, None, None, None, "e", "f", None]
    assert made.columns["_rescued"].to_pylist() == wanted


@pytest.mark.parametrize(
    ("values", "kind", "wanted"),
    [
        (["ab", None, "", "ä"], pa.string(), [2, 0, 0, 2]),
        ([b"ab", None], pa.large_binary(), [2, 0]),
        ([["ab", "c"], None, [], ["d"]], pa.list_(pa.string()), [3, 0, 0, 1]),
        ([[1, 2], None, [3]], pa.list_(pa.int64()), [16, 0, 8]),
        ([{"a": "xyz", "b": ["u"]}, None], STRUCT, [4, 0]),
        ([[("k", "val")], None, []], pa.map_(pa.string(), pa.string()), [4, 0, 0]),
    ],
)
def test_rows_have_the_bytes_of_their_values(values, kind, wanted):
    column = pa.array(values, kind)
    assert row_bytes(column).tolist() == wanted
    assert row_bytes(column.slice(1)).tolist() == wanted[1:]


def test_values_of_one_width_take_it():
    assert row_bytes(pa.array([1, 2, 3], pa.int64())).tolist() == [8, 8, 8]
    assert row_bytes(pa.array([], pa.int64())).tolist() == []
