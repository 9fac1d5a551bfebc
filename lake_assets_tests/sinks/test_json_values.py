import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from lake_assets.sinks.json_values import values_of_column

AT = datetime(2026, 11, 25, 21, 28, 23, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (pa.array(["ä", "", None]), ["ä", "", None]),
        (pa.array([2**63 - 1, None]), [2**63 - 1, None]),
        (pa.array([True, None]), [True, None]),
        (pa.array([1.5, float("nan"), float("-inf"), None]), [1.5, None, None, None]),
        (pa.array([AT, None], pa.timestamp("us", tz="UTC")), ["2026-11-25T21:28:23.000005Z", None]),
        (
            pa.array([AT.replace(tzinfo=None)], pa.timestamp("us")),
            ["2026-11-25T21:28:23.000005"],
        ),
        (pa.array([date(1, 2, 3), None]), ["0001-02-03", None]),
        (pa.array([Decimal("1.10"), None]), ["1.10", None]),
        (pa.array([b"\x00\xff", None]), ["AP8=", None]),
        (pa.array([timedelta(seconds=1.5)]), [1.5]),
        (pa.array([[1.0, float("nan")], None, []]), [[1.0, None], None, []]),
        (
            pa.array([{"at": AT, "n": {"b": b"a"}}], pa.struct([
                ("at", pa.timestamp("us", tz="UTC")), ("n", pa.struct([("b", pa.binary())]))
            ])),
            [{"at": "2026-11-25T21:28:23.000005Z", "n": {"b": "YQ=="}}],
        ),
        (pa.array([[(True, 1)], None], pa.map_(pa.bool_(), pa.int32())), [{"true": 1}, None]),
        (
            pa.array([[(1, Decimal("2.0"))]], pa.map_(pa.int32(), pa.decimal128(3, 1))),
            [{"1": "2.0"}],
        ),
        (pa.nulls(2), [None, None]),
    ],
    ids=lambda one: str(getattr(one, "type", "")),
)  # fmt: skip
def test_values_are_those_of_json(column, values):
    found = values_of_column(column)
    assert found == values
    assert json.loads(json.dumps(found, allow_nan=False)) == values
