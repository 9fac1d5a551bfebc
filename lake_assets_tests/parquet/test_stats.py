import json
from datetime import UTC, date, datetime
from decimal import Decimal
from io import BytesIO

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from lake_assets.delta.commit import Batch
from lake_assets.parquet.stats import INDEXED_COLUMNS, file_stats
from lake_assets_tests.sample import silver_of

UNO = silver_of("uno")

EARLY = datetime(1, 1, 1, tzinfo=UTC)
EXACT = Decimal("12345678901234567890.123456789012345678")
LATE = datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=UTC)

PRIMITIVES = {
    "int8": pa.array([3, None, -7], pa.int8()),
    "int16": pa.array([3, None, -7], pa.int16()),
    "int32": pa.array([3, None, -7], pa.int32()),
    "int64": pa.array([2**62, None, -(2**62)], pa.int64()),
    "string": pa.array(["ö", None, "a"]),
    "empty string": pa.array(["b", "", None]),
    "boolean": pa.array([True, None, False]),
    "date": pa.array([date(1, 2, 3), None, date(2026, 11, 21)]),
    "timestamp": pa.array([LATE, None, EARLY], pa.timestamp("us", tz="UTC")),
    "whole decimal": pa.array([Decimal(2**64 - 1), None, Decimal(2**53 + 1)], pa.decimal128(20, 0)),
    "decimal": pa.array([Decimal("0.10"), None, Decimal("-12.34")], pa.decimal128(10, 2)),
}


def stats_of(row_group_size=1024, *, with_nan=(), **columns):
    footers = []
    pq.write_table(
        pa.table(columns), BytesIO(), metadata_collector=footers, row_group_size=row_group_size
    )
    return json.loads(file_stats(footers[0], with_nan))


FAR = {
    "microseconds taken for milliseconds": 1_700_000_000_000_000_000,
    "after 9999": 253_402_300_800_000_000,
    "before 1": -62_135_596_800_000_001,
}


@pytest.mark.parametrize("far", FAR)
def test_times_that_a_log_cannot_tell_have_bounds_that_hide_no_row(far):
    """A producer may give any of them to a row, and the row is to be in bronze."""
    times = pa.array([FAR[far], None, 5], pa.int64()).cast(pa.timestamp("us", tz="UTC"))
    found = stats_of(a=times, b=pa.array([1, 2, 3]))
    first = "0001-01-01T00:00:00.000000Z" if FAR[far] < 0 else "1970-01-01T00:00:00.000005Z"
    last = "1970-01-01T00:00:00.000005Z" if FAR[far] < 0 else "9999-12-31T23:59:59.999999Z"
    assert found["minValues"] == {"a": first, "b": 1}
    assert found["maxValues"] == {"a": last, "b": 3}
    assert found["nullCount"] == {"a": 1, "b": 0}


def test_days_that_a_log_cannot_tell_likewise():
    found = stats_of(a=pa.array([3_000_000, 1], pa.int32()).cast(pa.date32()))
    assert (found["minValues"], found["maxValues"]) == ({"a": "1970-01-02"}, {"a": "9999-12-31"})


def read_back(value, kind):
    """A bound as a reader takes it, by the column's type."""
    if pa.types.is_decimal(kind):
        return Decimal(str(value))
    if pa.types.is_timestamp(kind):
        return datetime.fromisoformat(value)
    return date.fromisoformat(value) if pa.types.is_date(kind) else value


@pytest.mark.parametrize("kind", PRIMITIVES)
@pytest.mark.parametrize("row_group_size", [1024, 1])
def test_bounds_are_the_least_and_greatest_value(kind, row_group_size):
    values = PRIMITIVES[kind]
    found = stats_of(row_group_size, a=values)
    bounds = [read_back(found[key]["a"], values.type) for key in ("minValues", "maxValues")]
    assert bounds == list(pc.min_max(values).as_py().values())


def test_rows_and_nulls_are_counted_over_all_row_groups():
    found = stats_of(2, a=pa.array([1, None, None, 4, None]))
    assert (found["numRecords"], found["nullCount"]) == (5, {"a": 3})


def test_a_column_of_nulls_has_no_bounds():
    found = stats_of(a=pa.nulls(3, pa.string()), b=pa.array([1, 2, 3]))
    assert (found["minValues"], found["maxValues"]) == ({"b": 1}, {"b": 3})


def test_a_row_group_of_nulls_does_not_hide_the_others_bounds():
    found = stats_of(1, a=pa.array([None, 5, None]))
    assert (found["minValues"], found["maxValues"]) == ({"a": 5}, {"a": 5})


def test_an_empty_file_has_no_bounds():
    found = stats_of(a=pa.array([], pa.int64()))
    assert (found["numRecords"], found["minValues"], found["maxValues"]) == (0, {}, {})


def test_a_long_text_is_bounded_by_its_beginning():
    found = stats_of(a=["ü" * 100])
    assert found["minValues"] == {"a": "ü" * 64}
    assert found["maxValues"] == {"a": "ü" * 64 + "\U0010ffff"}


def test_a_text_whose_beginning_cannot_bound_it_is_bounded_all_the_same():
    found = stats_of(a=["\U0010ffff" * 65])
    assert found["maxValues"] == {"a": "\U0010ffff" * 64}


def test_a_text_too_long_for_parquets_own_statistics_gets_the_widest_bounds():
    found = stats_of(1, a=["x", "x" * 100_000])
    assert (found["minValues"], found["maxValues"]) == ({"a": ""}, {"a": "\U0010ffff" * 64})


def test_bytes_have_no_bounds():
    found = stats_of(a=[b"\0", None])
    assert (found["minValues"], found["nullCount"]) == ({}, {"a": 1})


def test_floats_are_bounded_on_both_sides():
    found = stats_of(a=[1.5, -0.5, None])
    assert (found["minValues"], found["maxValues"]) == ({"a": -0.5}, {"a": 1.5})


def test_nan_is_above_all_numbers():
    found = stats_of(with_nan=["a"], a=[1.5, float("nan")])
    assert (found["minValues"], found["maxValues"]) == ({"a": 1.5}, {"a": "Infinity"})


def test_nothing_but_nan_gets_the_widest_bounds():
    found = stats_of(with_nan=["a"], a=[float("nan")])
    assert (found["minValues"], found["maxValues"]) == ({"a": "-Infinity"}, {"a": "Infinity"})


def test_infinity_is_written_as_spark_does():
    found = stats_of(a=[float("inf"), float("-inf")])
    assert (found["minValues"], found["maxValues"]) == ({"a": "-Infinity"}, {"a": "Infinity"})


def test_a_decimal_is_not_rounded():
    texts = ["-0.1234567890123456789", "12345678901234567890.1234567890123456789"]
    found = stats_of(a=pa.array(map(Decimal, texts), pa.decimal256(40, 19)))
    assert [found["minValues"]["a"], found["maxValues"]["a"]] == texts


def test_nested_columns_have_no_statistics():
    found = stats_of(a=[{"x": 1}], b=[[1, 2]], c=pa.array([[("k", 1)]], pa.map_("string", "int8")))
    assert found["nullCount"] == {}


def test_only_leading_columns_have_statistics():
    found = stats_of(**{f"c{i}": [i] for i in range(INDEXED_COLUMNS + 5)})
    assert list(found["nullCount"]) == [f"c{i}" for i in range(INDEXED_COLUMNS)]


@pytest.fixture
def table(tmp_path, committer, land):
    """Two files that readers may skip: values below 0 in one, above in the other."""

    def rows(sign):
        return pa.table(
            {
                "n": pa.array([sign * 1, sign * 3], pa.int64()),
                "x": [float("nan") if sign > 0 else float("-inf"), sign * 0.5],
                "s": ["z" * 100, "a"] if sign > 0 else ["m", None],
                "d": pa.array([sign * Decimal(2**53 + 1), None], pa.decimal128(20, 0)),
                "t": pa.array([LATE if sign > 0 else EARLY, None], pa.timestamp("us", tz="UTC")),
                "b": [sign > 0, None],
                "e": pa.array([sign * EXACT, None], pa.decimal128(38, 18)),
                "l": ["x" * 5000, "y"] if sign > 0 else [None, None],
            }
        )

    committer.create({UNO: rows(1).schema})
    for version, sign in enumerate((-1, 1)):
        committer.append([land(UNO, rows(sign))], Batch("query", version))
    return DeltaTable(tmp_path / UNO.relative)


FILTERS = [
    "n > 2",
    "n < 0 and n >= -3",
    "n = 1",
    "x < 0",
    "x > 100",  # DuckDB, like Spark, has NaN above all numbers
    "s > 'zz'",
    "s <= 'a'",
    "s is null",
    "d = 9007199254740993",
    "d < 0",
    "t > '2026-11-21 01:02:03.456788+00'",
    "t < '1000-01-01 00:00:00+00'",
    "b",
    "not b",
    "e > 12345678901234567890.123456789012345677",
    "e < 0",
    "l > 'xx'",
]


@pytest.mark.parametrize("condition", FILTERS)
def test_skipping_files_by_statistics_loses_no_row(table, condition):
    with duckdb.connect() as db:
        whole = db.from_arrow(table.to_pyarrow_table()).filter(condition).fetchall()
        pruned = db.from_arrow(table.to_pyarrow_dataset()).filter(condition).fetchall()
    assert whole
    assert sorted(map(repr, pruned)) == sorted(map(repr, whole))


def test_statistics_let_readers_skip_files(table):
    fragments = table.to_pyarrow_dataset().get_fragments(filter=pc.field("n") > 0)
    assert len(list(fragments)) == 1


@pytest.mark.parametrize("kind", [pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.date32()])
def test_times_that_python_does_not_have_are_bounded_by_its_ends(kind):
    """Spark and others write such; no query tells of them, and no reader skips the other rows."""
    whole = pa.int32() if kind == pa.date32() else pa.int64()
    ends = [-(2 ** (whole.bit_width - 1)), 2 ** (whole.bit_width - 1) - 1]
    found = stats_of(at=pa.array([*ends, 0], whole).cast(kind), row_group_size=1)
    least, greatest = found["minValues"]["at"], found["maxValues"]["at"]
    if kind == pa.date32():
        assert (least, greatest) == ("0001-01-01", "9999-12-31")
    else:
        zone = "Z" if kind.tz else ""
        assert least == f"0001-01-01T00:00:00.000000{zone}"
        assert greatest == f"9999-12-31T23:59:59.999999{zone}"
