from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from lake_assets.parquet.partitioning import (
    can_partition,
    days,
    is_whole,
    split,
    untold,
    with_values,
    without_untold,
)


def parts_of(rows, *by):
    return [(tuple(values.values()), part["n"].to_pylist()) for values, part in split(rows, by)]


def test_rows_are_split_by_each_combination_of_values_and_keep_their_order():
    rows = pa.table({"n": [1, 2, 3, 4, 5], "a": ["x", "y", "x", None, "x"], "b": [1, 1, 2, 1, 1]})
    assert sorted(parts_of(rows, "a", "b"), key=str) == [
        (("x", "1"), [1, 5]),
        (("x", "2"), [3]),
        (("y", "1"), [2]),
        ((None, "1"), [4]),
    ]


def test_rows_of_one_value_are_not_copied():
    rows = pa.table({"n": [1, 2], "a": ["x", "x"]})
    ((values, part),) = split(rows, ["a"])
    assert (values, part) == ({"a": "x"}, rows)
    assert list(split(rows.slice(0, 0), ["a"])) == []


def test_rows_in_many_chunks_are_split_as_those_in_one():
    rows = pa.concat_tables([pa.table({"n": [i], "a": [f"{i % 2}"]}) for i in range(6)])
    assert sorted(parts_of(rows, "a")) == [(("0",), [0, 2, 4]), (("1",), [1, 3, 5])]


@pytest.mark.parametrize(
    ("value", "kind", "told"),
    [
        ("a/b=c %é東", pa.string(), "a/b=c %é東"),
        (-7, pa.int64(), "-7"),
        (True, pa.bool_(), "true"),
        (date(9999, 12, 31), pa.date32(), "9999-12-31"),
        (date(1, 1, 1), pa.date32(), "0001-01-01"),
        (Decimal(2**64 - 1), pa.decimal128(20, 0), "18446744073709551615"),
        (Decimal(-7), pa.decimal128(20, 0), "-7"),
        (-(2**63), pa.int64(), "-9223372036854775808"),
        (False, pa.bool_(), "false"),
        (None, pa.date32(), None),
    ],
)
def test_a_value_is_told_as_the_protocol_has_it_and_read_back(value, kind, told):
    rows = pa.table({"n": [1], "a": pa.array([value], kind)})
    ((values, part),) = split(rows, ["a"])
    assert values == {"a": told}
    lost = part.set_column(1, part.schema.field("a"), pa.nulls(1, kind))
    assert with_values(lost, values) == part


def test_what_a_log_cannot_tell_apart_is_one_value():
    """Spark writes null for an empty text in a partition column, and readers differ about it."""
    rows = pa.table({"n": [1, 2, 3], "a": ["", None, "x"], "b": ["", "", ""]})
    assert without_untold(rows, ["a"]).to_pydict() == {
        "n": [1, 2, 3],
        "a": [None, None, "x"],
        "b": ["", "", ""],
    }
    assert (untold(rows, ["a"]), untold(rows, ["n", "a", "b"])) == (1, 4)


def test_a_day_that_no_reader_takes_is_null():
    """Arrow has more days than Python, and engines write those each in a way of its own."""
    rows = pa.table({"day": pa.array([-(2**31), -719163, -719162, 2932896, 2932897], pa.int32())})
    rows = rows.set_column(0, "day", rows["day"].cast(pa.date32()))
    assert without_untold(rows, ["day"])["day"].to_pylist() == [
        None,
        None,
        date(1, 1, 1),
        date(9999, 12, 31),
        None,
    ]


def test_a_day_is_of_utc_whatever_the_zone_and_the_unit():
    late = datetime(2026, 11, 24, 23, 30, tzinfo=UTC)
    for kind in (pa.timestamp("us", "UTC"), pa.timestamp("ms", "America/New_York")):
        assert days(pa.array([late, None], kind)).to_pylist() == [date(2026, 11, 24), None]
    before = pa.array([-1], pa.timestamp("us", "UTC"))
    assert days(before).to_pylist() == [date(1969, 12, 31)]
    assert days(pa.array([late.replace(tzinfo=None)], pa.timestamp("us"))).to_pylist() == [
        date(2026, 11, 24)
    ]


def test_a_day_that_readers_do_not_take_is_null():
    years = 366 * 86_400 * 1_000_000
    times = pa.array([8_100 * years, -2_000 * years, 0], pa.timestamp("us", "UTC"))
    assert days(times).to_pylist() == [None, None, date(1970, 1, 1)]


def test_types_whose_values_stay_what_they_are_as_text_can_partition():
    fine = [pa.string(), pa.bool_(), pa.int8(), pa.int64(), pa.decimal128(20, 0), pa.date32()]
    others = [
        pa.float64(),
        pa.binary(),
        pa.timestamp("us", "UTC"),
        pa.decimal128(9, 2),
        pa.list_(pa.string()),
        pa.struct([("a", pa.int8())]),
    ]
    assert [can_partition(kind) for kind in [*fine, *others]] == [True] * 6 + [False] * 6


def test_a_file_says_by_its_name_that_it_has_the_partition_columns():
    assert is_whole("whole-1.parquet")
    assert not is_whole("day=whole-1/part-1.parquet")
