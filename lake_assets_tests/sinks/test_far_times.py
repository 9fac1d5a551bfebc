from datetime import UTC, date, datetime

import pyarrow as pa
import pytest

from lake_assets.sinks.base import IDENTITY, origins_of
from lake_assets.sinks.far_times import python_values
from lake_assets.sinks.json_values import json_rows

ZONED, LOCAL = pa.timestamp("us", tz="UTC"), pa.timestamp("us")

FAR = 1_764_000_000_000_000_000
"""Microseconds that were taken for milliseconds, and those for microseconds."""


YEAR_0 = "0000-01-01T00:00:00.000000"

AT = "57868-12-07T16:00:00.000000"


@pytest.mark.parametrize(
    ("kind", "given", "found"),
    [
        (ZONED, [FAR, None], [f"{AT}Z", None]),
        (LOCAL, [-FAR], ["-53929-01-24T08:00:00.000000"]),
        (pa.timestamp("ms"), [253_402_300_800_000], ["10000-01-01T00:00:00.000000"]),
        (
            pa.timestamp("s"),
            [-62_167_219_200, -62_198_755_200],
            [YEAR_0, "-0001-01-01T00:00:00.000000"],
        ),
        (ZONED, [FAR, 1], [f"{AT}Z", datetime(1970, 1, 1, microsecond=1, tzinfo=UTC)]),
        (pa.date32(), [2**30, 1], ["2941775-04-07", date(1970, 1, 2)]),
        (pa.list_(LOCAL), [[1, FAR], None], [[datetime(1970, 1, 1, microsecond=1), AT], None]),  # noqa: DTZ001
        (pa.struct([("a", ZONED), ("b", pa.string())]), [{"a": FAR}], [{"a": f"{AT}Z", "b": None}]),
        (pa.map_(pa.string(), pa.date32()), [[("a", 2**30)]], [[("a", "2941775-04-07")]]),
    ],
)
def test_times_that_are_too_far_away_are_texts(kind, given, found):
    assert python_values(pa.array(given, kind)) == found


def test_they_are_json_and_tell_origins():
    rows = json_rows(
        {"at": pa.array([FAR, 0], ZONED), "all": pa.array([[FAR], []], pa.list_(ZONED))}
    )
    assert rows == [
        {"at": f"{AT}Z", "all": [f"{AT}Z"]},
        {"at": "1970-01-01T00:00:00.000000Z", "all": []},
    ]
    place = {"table": "silver/x", "feed": "f", "source": "t", "partition": 0, "ordinal": 0}
    told = [{**place, "offset": 1, "source_time": FAR}, {**place, "offset": 2, "source_time": 0}]
    assert origins_of(pa.Table.from_pylist(told, IDENTITY)) == [
        f"silver/x/f/t/0/1/0@{AT}Z",
        "silver/x/f/t/0/2/0@1970-01-01T00:00:00.000000+00:00",
    ]
