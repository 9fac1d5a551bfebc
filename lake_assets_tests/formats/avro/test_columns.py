import pyarrow as pa
import pytest

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.avro.columns import MICROSECONDS, columns
from lake_assets.formats.avro.naming import named
from lake_assets.formats.avro.schema import parse
from lake_assets_tests.formats.avro.given import record, versions

UTC = pa.timestamp("us", tz="UTC")


def made(schema):
    (version,) = versions(schema).values()
    return columns(named([parse(version.descriptor_set)])[0])


def logical(base, name, **more):
    return {"type": base, "logicalType": name, **more}


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("int", pa.int32()),
        (["null", "long"], pa.int64()),
        (["string"], pa.string()),
        ({"type": "enum", "name": "K", "symbols": ["A"]}, pa.string()),
        ({"type": "fixed", "name": "F", "size": 2}, pa.binary()),
        ({"type": "map", "values": "float"}, pa.map_(pa.string(), pa.float32())),
        (["int", "long"], pa.int64()),
        (["double", "null", "float"], pa.float64()),
        (
            ["null", "string", "int"],
            pa.struct([("member0", pa.string()), ("member1", pa.int32())]),
        ),
        (logical("int", "date"), pa.date32()),
        (logical("long", "timestamp-nanos"), UTC),
        (logical("long", "local-timestamp-micros"), UTC),
        (logical("bytes", "decimal", precision=5, scale=2), pa.decimal128(5, 2)),
        (logical("string", "uuid"), pa.string()),
        (logical("long", "date"), pa.int64()),
        (logical("bytes", "decimal", precision=0), pa.binary()),
    ],
)
def test_types_become_columns(kind, column):
    assert made(record(("a", kind))).field("a").type == column


def test_times_of_day_are_numbers_that_say_of_what():
    field = made(record(("a", ["null", logical("int", "time-millis")]))).field("a")
    assert (field.type, field.metadata) == (pa.int64(), {b"comment": b"microseconds"})
    assert MICROSECONDS == {"comment": "microseconds"}


@pytest.mark.parametrize(
    "kind",
    [
        "null",
        record(name="Empty"),
        {"type": "array", "items": "null"},
        {"type": "map", "values": record(("n", "null"), name="N")},
        {"type": "array", "items": {"type": "fixed", "name": "F", "size": 0}},
    ],
)
def test_what_no_value_can_be_in_has_no_column(kind):
    assert made(record(("a", kind), ("b", "int"))).names == ["b"]
    with pytest.raises(SchemaUnusableError, match="record event: has no fields"):
        made(record(("a", kind)))


def test_a_name_of_silvers_own_is_refused():
    with pytest.raises(SchemaUnusableError, match="field _Offset has the name of a column"):
        made(record(("_Offset", "int")))
