import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from lake_assets.sources.files.json_values import objects, plain_type, text_of

AT = datetime(2026, 11, 26, 8, 0, 0, 5, tzinfo=UTC)
ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
UUIDS = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([ID.bytes], pa.binary(16)))


def json_of(array):
    """A row's value, through the type that it is read as, and through JSON's text."""
    kind = plain_type(array.type)
    column = array if kind == array.type else array.cast(kind, safe=False)
    (row,) = objects(pa.RecordBatch.from_arrays([column], names=["a"]))
    return json.loads(text_of(row)).get("a")


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        (pa.uint64(), 2**64 - 1, 2**64 - 1),
        (pa.int8(), -5, -5),
        (pa.bool_(), True, True),
        (pa.large_string(), "ü\u00e9", "ü\u00e9"),
        (pa.float64(), 0.1, 0.1),
        (pa.float64(), float("nan"), "nan"),
        (pa.float32(), float("-inf"), "-inf"),
        (pa.list_(pa.float64()), [float("inf"), None], ["inf", None]),
        (pa.float16(), 1.5, 1.5),
        (pa.decimal128(10, 2), Decimal("9.90"), "9.90"),
        (pa.decimal256(60, -3), Decimal("1E+3"), "1000"),
        (pa.binary(), b"\x00\xff", "AP8="),
        (pa.binary(2), b"\x00\xff", "AP8="),
        (pa.date32(), date(1, 1, 1), "0001-01-01"),
        (pa.date64(), date(9999, 12, 31), "9999-12-31"),
        (pa.time32("ms"), time(8, 0, 0, 5000), "08:00:00.005000"),
        (pa.time64("ns"), time(8, 0, 0, 5), "08:00:00.000005"),
        (pa.duration("ms"), 5, 5),
        (pa.timestamp("s"), AT.replace(tzinfo=None, microsecond=0), "2026-11-26T08:00:00.000000"),
        (pa.timestamp("us", "UTC"), AT, "2026-11-26T08:00:00.000005+00:00"),
        (pa.timestamp("us", "Europe/Berlin"), AT, "2026-11-26T08:00:00.000005+00:00"),
        (pa.timestamp("ns", "no zone"), 1_999, "1970-01-01T00:00:00.000001+00:00"),
        (pa.timestamp("us"), datetime.min, "0001-01-01T00:00:00.000000"),  # noqa: DTZ901
        (pa.timestamp("ms"), 253_402_300_799_999, "9999-12-31T23:59:59.999000"),
        (
            pa.struct([("t", pa.timestamp("ns", "UTC"))]),
            {"t": 1_999},
            {"t": "1970-01-01T00:00:00.000001+00:00"},
        ),
        (pa.list_(pa.timestamp("ns"), 1), [1_000], ["1970-01-01T00:00:00.000001"]),
        (pa.large_list(pa.time64("ns")), [1_000], ["00:00:00.000001"]),
        (
            pa.map_(pa.timestamp("us"), pa.decimal128(3, 1)),
            [(0, Decimal("1.0"))],
            {"1970-01-01T00:00:00.000000": "1.0"},
        ),
        (pa.map_(pa.bool_(), pa.bool_()), [(True, None)], {"true": None}),
        (pa.map_(pa.int32(), pa.binary()), [(1, b"\0"), (2, None)], {"1": "AA==", "2": None}),
        (pa.string(), None, None),
    ],
)
def test_values_are_exact_or_text(kind, value, found):
    assert json_of(pa.array([value], kind)) == found


def test_what_arrow_alone_knows_is_what_it_stands_for():
    assert json_of(UUIDS) == str(ID)
    assert json_of(pa.StructArray.from_arrays([UUIDS], names=["id"])) == {"id": str(ID)}
    assert json_of(pa.array(["a"]).dictionary_encode()) == "a"


def test_what_is_null_is_left_out():
    rows = pa.RecordBatch.from_pydict({"a": [1, None], "b": [None, "x"]})
    assert [text_of(row) for row in objects(rows)] == [b'{"a":1}', b'{"b":"x"}']


@pytest.mark.parametrize(
    "array",
    [
        pa.array([0, 253_402_300_800], pa.timestamp("s")),
        pa.array([-62_135_596_800_001], pa.timestamp("ms", "UTC")),
        pa.array([2**62], pa.timestamp("us")),
        pa.array([10**16], pa.timestamp("ms")),  # beyond what microseconds of 64 bits have
        pa.array([4_000_000], pa.int32()).cast(pa.date32()),
        pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())),
    ],
)
def test_values_that_python_has_not_are_told(array):
    with pytest.raises((KeyError, OverflowError, ValueError)):
        objects(pa.RecordBatch.from_arrays([array], names=["a"]))
