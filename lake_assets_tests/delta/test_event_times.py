import json
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from lake_assets.delta.commit import DataFile
from lake_assets.delta.event_times import timed, timed_files

AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
MICROS = 1_767_323_045_678_901


def file(**stats):
    return DataFile(path="a.parquet", size=1, rows=2, stats=json.dumps(stats))


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2026-01-02T03:04:05.678901Z", MICROS),
        ("2026-01-02T03:04:05.678Z", MICROS - 901),
        ("2026-01-02T04:04:05.678901+01:00", MICROS),
        ("2026-01-02T03:04:05.678901", MICROS),
    ],
)
def test_bounds_are_read_as_engines_write_them(text, micros):
    told = {"numRecords": 2, "nullCount": {"at": 0}, "minValues": {"at": text}}
    assert timed(file(**told, maxValues={"at": text}), "at").bounds == (micros, micros)


@pytest.mark.parametrize(
    "stats",
    [
        {},
        {"numRecords": 2},
        {"numRecords": 2, "nullCount": {"at": 0}, "minValues": {}, "maxValues": {}},
        {"numRecords": 2, "nullCount": {"at": 0}, "minValues": {"at": 1}, "maxValues": {"at": 1}},
        {
            "numRecords": 2,
            "nullCount": {"at": 0},
            "minValues": {"at": "x"},
            "maxValues": {"at": ""},
        },
    ],
)
def test_what_is_not_told_is_unknown(stats):
    found = timed(file(**stats), "at")
    assert (found.bounds, found.has_times) == (None, True)
    assert timed(DataFile(path="a", size=1, rows=1, stats=""), "at").bounds is None


def test_the_least_arrival_is_told_where_each_row_has_one():
    text = "2026-01-02T03:04:05.678901Z"
    least = {"at": text, "came": text}
    told = {"numRecords": 2, "minValues": least, "maxValues": {"at": text}}
    found = [
        timed(file(**told, nullCount={"at": 0, "came": nulls}), "at", "came") for nulls in (0, 1)
    ]
    assert [each.came for each in found] == [MICROS, None]
    assert timed(file(**told, nullCount={"at": 0}), "at", "came").came is None
    assert timed(file(**told, nullCount={"at": 0, "came": 0}), "at").came is None
    assert all(each.bounds == (MICROS, MICROS) for each in found)


def test_a_file_without_any_time_is_told():
    assert not timed(file(numRecords=2, nullCount={"at": 2}), "at").has_times


def test_a_tables_files_are_told_of_likewise(tmp_path):
    schema = pa.schema([("at", pa.timestamp("us", tz="UTC")), ("n", pa.int64())])
    for at in (AT, None):
        rows = pa.Table.from_pylist([{"at": at, "n": 1}], schema=schema)
        write_deltalake(tmp_path, rows, mode="append")
    found = timed_files(DeltaTable(tmp_path), "at")
    assert sorted(each.has_times for each in found) == [False, True]
    (bounds,) = (each.bounds for each in found if each.has_times)
    assert all(abs(bound - MICROS) < 1000 for bound in bounds)
    assert all(each.bounds is None for each in timed_files(DeltaTable(tmp_path), "gone"))
    (came,) = (each.came for each in timed_files(DeltaTable(tmp_path), "at", "at") if each.bounds)
    assert came is not None
    assert abs(came - MICROS) < 1000
    assert all(each.came is None for each in timed_files(DeltaTable(tmp_path), "at", "gone"))
