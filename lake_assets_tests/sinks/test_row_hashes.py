from collections import Counter

import numpy as np
import pyarrow as pa

from lake_assets.silver.key_hashes import Hashes
from lake_assets.sinks.row_hashes import RowBag, as_bytes, hash_rows


def _hashes(rows, **kinds):
    batch = pa.RecordBatch.from_pylist(rows, pa.schema(list(kinds.items())))
    return as_bytes(hash_rows(batch, batch.schema.names))


def test_rows_are_alike_where_all_values_are():
    kinds = {"a": pa.int64(), "b": pa.string(), "c": pa.list_(pa.float64())}
    rows = [{"a": 1, "b": "x", "c": [1.5]}, {"a": 1, "b": "x", "c": [1.5]}]
    one, other = _hashes(rows, **kinds)
    assert one == other
    changes: list[dict] = [
        {"a": 2},
        {"b": "y"},
        {"c": [1.5, 1.5]},
        {"a": None},
        {"b": None},
        {"c": None},
    ]
    changed = [_hashes([{**rows[0], **change}], **kinds)[0] for change in changes]
    assert len({one, *changed}) == 1 + len(changes)


def test_a_null_is_no_value_and_no_other_columns_null():
    kinds = {"a": pa.int64(), "b": pa.int64(), "c": pa.string()}
    rows = [
        {"a": None, "b": 0, "c": ""},
        {"a": 0, "b": None, "c": ""},
        {"a": 0, "b": 0, "c": None},
        {"a": 0, "b": 0, "c": ""},
    ]
    assert len(set(_hashes(rows, **kinds))) == 4


def test_a_row_has_its_hash_whatever_is_beside_it():
    kinds = {f"c{number}": pa.int64() for number in range(70)}
    row = {"c1": 5, "c69": None}
    alone = _hashes([row], **kinds)
    assert _hashes([{"c0": 1}, row, {}], **kinds)[1:2] == alone
    assert _hashes([{**row, "c68": 0}], **kinds) != alone


def _some(*pairs):
    high, low = (np.array(half, np.uint64) for half in zip(*pairs, strict=True))
    return Hashes(high=high, low=low, is_known=np.ones(len(pairs), np.bool_))


def test_rows_are_taken_out_as_often_as_they_are_there():
    bag = RowBag([_some((5, 1), (7, 1)), _some((5, 1), (5, 2))])
    assert bag.take(_some((5, 1), (5, 3), (4, 1), (9, 9))).tolist() == [True, False, False, False]
    assert bag.take(_some((5, 1), (7, 1), (5, 1), (5, 2))).tolist() == [True, True, False, True]
    assert not bag
    assert not bag.take(_some((5, 1))).any()


def test_none_are_taken_out_of_none():
    assert not RowBag([])
    assert RowBag([]).take(_some((1, 1))).tolist() == [False]


def test_a_bag_counts_as_counting_does():
    drawn = np.random.default_rng(1).integers(0, 4, (2, 400, 2))
    first, second = ([tuple(map(int, pair)) for pair in half] for half in drawn)
    bag, left = RowBag([_some(*first)]), Counter(first)
    for start in range(0, len(second), 50):
        expected = []
        for pair in second[start : start + 50]:
            expected.append(left[pair] > 0)
            left[pair] -= expected[-1]
        assert bag.take(_some(*second[start : start + 50])).tolist() == expected
    assert bool(bag) is any(left.values())


def test_times_after_the_year_9999_that_are_in_others_are_told_apart():
    times = pa.array([2**60, 2**60 + 1, 2**60], pa.timestamp("us", "UTC"))
    rows = pa.RecordBatch.from_arrays([pa.StructArray.from_arrays([times], ["at"])], ["seen"])
    first, other, again = as_bytes(hash_rows(rows, ["seen"]))
    assert first == again != other


def test_a_table_has_the_hashes_of_its_pieces_and_none_without_rows():
    kinds = pa.schema([("a", pa.int64()), ("b", pa.string())])
    columns = [{"a": [1, None], "b": ["x", "y"]}, {"a": [2], "b": [None]}]
    pieces = [pa.table(one, schema=kinds) for one in columns]
    table = pa.concat_tables(pieces)
    found = [one for piece in pieces for one in as_bytes(hash_rows(piece, ["a", "b"]))]
    assert as_bytes(hash_rows(table, ["a", "b"])) == found
    assert as_bytes(hash_rows(table.combine_chunks().to_batches()[0], ["a", "b"])) == found
    none = hash_rows(table.slice(0, 0), ["a", "b"])
    assert (as_bytes(none), RowBag([none]).has(hash_rows(table, ["a", "b"])).any()) == ([], False)


def test_a_bag_has_what_is_left_in_it():
    rows = hash_rows(pa.table({"a": [1, 1, 2, 3]}), ["a"])
    bag = RowBag([rows])
    bag.take(hash_rows(pa.table({"a": [1, 2]}), ["a"]))
    asked = hash_rows(pa.table({"a": [3, 2, 1, 0]}), ["a"])
    assert bag.has(asked).tolist() == [True, False, True, False]
    assert bag.has(asked).tolist() == [True, False, True, False]
