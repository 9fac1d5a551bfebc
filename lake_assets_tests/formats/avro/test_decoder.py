"""What rows are worth, good and bad; `test_property` has what is in them."""

import time
from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pyarrow as pa
import pytest

from lake_assets.formats.avro.decoder import AvroDecoder
from lake_assets.formats.avro.decoding_plan import plan_decoding
from lake_assets_tests.formats.avro.given import (
    NOTHING,
    datum,
    decode_all,
    framed,
    record,
    row_of,
    rows_of,
    subject,
)
from lake_assets_tests.formats.contract import check_decoder
from lake_assets_tests.formats.framed_rows import bronze

ENUM = {"type": "enum", "name": "K", "symbols": ["A", "B"]}
ARRAY = {"type": "array", "items": "string"}
LONG = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"
"""The largest number."""


def of(kind, *data):
    """What tables get of the bytes of a field `a`."""
    rows = rows_of(subject(record(("a", kind))), *(framed(1, one) for one in data))
    return [row.get("refused", row.get("a")) for row in rows]


def bad(problem):
    return ("undecodable", f"a: {problem}")


CUT = bad("the value ends too early")
MANY = bad("an array or a map has more items than there are bytes")


@pytest.mark.parametrize(
    ("kind", "data", "problem"),
    [
        ("long", b"", CUT),
        ("long", b"\x80", CUT),
        ("long", b"\xff" * 12, bad("a number has more than 64 bits")),
        ("long", b"\xff" * 9 + b"\x02", bad("a number has more than 64 bits")),
        ("int", b"\x80\x80\x80\x80\x10", bad("a number is no int of 32 bits")),
        ("boolean", b"\x02", bad("a boolean is neither 0 nor 1")),
        ("double", b"\0" * 7, CUT),
        ("string", b"\x04a", CUT),
        ("string", b"\x01", bad("a length is negative")),
        ("string", LONG, CUT),
        ("string", b"\x02\xff", bad("a text is not UTF-8")),
        ("bytes", b"\x04a", CUT),
        (ENUM, b"\x04", bad("an enum of 2 symbols has no such one")),
        (ENUM, b"\x01", bad("an enum of 2 symbols has no such one")),
        (["null", "int"], b"\x04", bad("a union of 2 types has no such one")),
        (["null", "int"], b"\x01", bad("a union of 2 types has no such one")),
        (["int", "string"], b"\x04", bad("a union of 2 types has no such one")),
        (ARRAY, LONG, MANY),
        (ARRAY, b"\x02\x02a", CUT),
        (ARRAY, b"\x02\x02\xff\0", bad("a text is not UTF-8")),
        ({"type": "map", "values": "int"}, b"\x02\x02\xff\x02\0", bad("a text is not UTF-8")),
        ({"type": "map", "values": "int"}, LONG, MANY),
        ({"type": "fixed", "name": "F", "size": 2}, b"a", CUT),
        ({"type": "int", "logicalType": "date"}, b"\xfe\xff\xff\xff\x0f",
         bad("a date is not between the years 1 and 9999")),
        ({"type": "long", "logicalType": "timestamp-millis"}, LONG,
         bad("a time is not between the years 1 and 9999")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 0}, b"\x02\x64",
         bad("a decimal has more than 2 digits")),
        ({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 0}, b"\0",
         bad("a decimal has no bytes")),
    ],
)  # fmt: skip
def test_bad_bytes_are_refused_with_what_is_wrong_and_alone(kind, data, problem):
    good = row_of(record(("a", kind)), {"a": GOOD.get(str(kind), 1)})["a"]
    encoded = datum(record(("a", kind)), {"a": GOOD.get(str(kind), 1)})
    assert of(kind, encoded, data, encoded) == [good, problem, good]
    # As many as are looked at all at once, not one by one.
    assert of(kind, *[encoded, data] * 100) == [good, problem] * 100


GOOD = {
    "boolean": True,
    "double": 0.5,
    "string": "x",
    "bytes": b"x",
    str(ENUM): "A",
    str(["int", "string"]): "x",
    str(ARRAY): ["x", "y"],
    str({"type": "map", "values": "int"}): {"k": 1},
    str({"type": "fixed", "name": "F", "size": 2}): b"ab",
    str({"type": "int", "logicalType": "date"}): date(2026, 11, 25),
    str({"type": "long", "logicalType": "timestamp-millis"}): datetime(2026, 11, 25, tzinfo=UTC),
    str({"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 0}): Decimal(12),
}


def test_a_byte_too_many_is_told_with_how_many_there_are():
    assert of("long", b"\2\0\0") == [("undecodable", "2 bytes are left over after the record")]


def test_a_length_that_claims_everything_takes_no_memory_and_no_time():
    nothing = record(("a", {"type": "array", "items": "null"}), ("b", "int"))
    begun = time.process_time()
    claims = [framed(1, LONG + b"\0\x02"), *[framed(1, LONG + b"\0\x04")] * 100]
    assert [row["b"] for row in rows_of(subject(nothing), *claims)] == [1, *[2] * 100]
    assert of(ARRAY, *[LONG + b"a" * 20] * 100) == [MANY] * 100
    assert pa.total_allocated_bytes() < 100_000_000
    assert time.process_time() - begun < 60


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_arrays_of_any_length_side_by_side(count):
    kind = {"type": "array", "items": record(("t", "string"), ("n", ["null", "long"]), name="I")}
    values = [
        [{"t": "x" * (item % 5), "n": None if item % 3 else item} for item in range(row % 90)]
        for row in range(count)
    ]
    schema = record(("a", kind))
    assert of(kind, *(datum(schema, {"a": value}) for value in values)) == values


@pytest.mark.parametrize("rows", [1, 100])
def test_arrays_in_several_blocks_with_and_without_their_size(rows):
    assert (
        of({"type": "array", "items": "int"}, *[b"\x02\x02\x03\x04\x04\x06\0"] * rows)
        == [[1, 2, 3]] * rows
    )
    assert of(ARRAY, *[b"\x01\x04\x02a\x02\x02b\0"] * rows) == [["a", "b"]] * rows


@pytest.mark.parametrize("rows", [1, 100])
def test_of_a_key_twice_in_a_map_the_last_counts(rows):
    data = b"\x06\x02a\x02\x02b\x04\x02a\x06\0"
    assert [dict(one) for one in of({"type": "map", "values": "int"}, *[data] * rows)] == [
        {"a": 3, "b": 2}
    ] * rows


def test_types_that_apaches_reader_does_not_know():
    fixed = {"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}
    text = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
    assert of(fixed, UUID(text).bytes) == [text]
    duration = {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}
    assert of(duration, b"\1\0\0\0\2\0\0\0\xff\xff\xff\xff") == [
        {"months": 1, "days": 2, "milliseconds": 2**32 - 1}
    ]
    nanos = {"type": "long", "logicalType": "timestamp-nanos"}
    at = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
    assert of(nanos, b"\x01", b"\xcf\x0f") == [at, at]
    local = {"type": "long", "logicalType": "local-timestamp-millis"}
    assert of(local, b"\x02") == [datetime(1970, 1, 1, microsecond=1000, tzinfo=UTC)]
    unknown = {"type": "long", "logicalType": "aeons"}
    assert of(unknown, b"\x02") == [1]


def test_decimals_of_any_number_of_bytes():
    kind = {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 1}
    largest = 10**38 - 1
    data = [
        number.to_bytes(size, "big", signed=True)
        for number, size in ((1, 1), (-1, 1), (-1, 40), (largest, 16), (-largest, 40), (256, 2))
    ]
    nines = f"{'9' * 37}.9"
    wanted = ["0.1", "-0.1", "-0.1", nines, f"-{nines}", "25.6"]
    encoded = [bytes([2 * len(one)]) + one for one in data]
    assert [str(one) for one in of(kind, *encoded)] == wanted


def test_rows_that_no_version_has_written_are_told_by_their_ids():
    schema = record(("a", "long"))
    known = subject(schema, unknown_ids=frozenset({8}), foreign_ids=frozenset({9}))
    values = (None, b"", b"bad", framed(8, b""), framed(9, b""), framed(1, b"\x02"))
    rows = rows_of(known, *values)
    assert [row.get("refused", row) for row in rows] == [
        ("empty_value", None),
        ("empty_value", None),
        ("not_framed", None),
        ("unknown_schema", "schema id 8"),
        ("foreign_schema", "schema id 9 is not of subject s"),
        {"a": 1},
    ]


def test_a_decoder_keeps_the_contract():
    schemas = [record(("a", "string")), record(("a", "string"), ("b", {**ARRAY, "default": []}))]
    old, new = datum(schemas[0], {"a": "x"}), datum(schemas[1], {"a": "y", "b": ["z"]})
    decoder = AvroDecoder(plan_decoding(subject(*schemas, waiting_ids=frozenset({7})), NOTHING))
    values = (framed(1, old), framed(2, new), None, framed(2, old), framed(7, old), framed(6, old))
    found = check_decoder(decoder, bronze(*values))
    assert found.reason.to_pylist()[2:5] == ["empty_value", "undecodable", "waiting"]
    assert [one.schema_id for one in found.questions] == [6]


def test_each_row_tells_the_record_that_it_is_of():
    first, other = record(("a", "int")), record(("a", "int"), name="acme.other")

    def told(*values):
        found = decode_all(subject(first, other), *values)
        return pa.array(found.messages, pa.string()).take(found.message).to_pylist()

    one, two = framed(1, datum(first, {"a": 1})), framed(2, datum(other, {"a": 2}))
    assert told(one, one) == ["event", "event"]
    assert told(one, None, two, b"bad") == ["event", None, "acme.other", None]
