"""Fields that have several types where they had one, in whatever order versions come."""

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import fastavro
import pyarrow as pa
import pytest

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.avro.decoding_plan import plan_decoding
from lake_assets.formats.confluent.schemas import FIRST
from lake_assets_tests.formats.avro.given import NOTHING, framed, record, rows_of, subject

MILLIS = {"type": "long", "logicalType": "timestamp-millis"}
MICROS = {"type": "long", "logicalType": "timestamp-micros"}
DATE = {"type": "int", "logicalType": "date"}
MOMENT = pa.timestamp("us", tz="UTC")
NOON = datetime(2026, 11, 25, 12, tzinfo=UTC)


def datum(schema, value):
    """What fastavro makes of a value; a pair says by its name of which type of a union it is."""
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(schema))), value)
    return out.getvalue()


def decimal(precision, scale):
    return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}


def decoded(kinds, *values, have=NOTHING):
    """What rows of a field become: each a version's index and a value."""
    versions = [record(("a", kind)) for kind in kinds]
    data = [framed(at + 1, datum(versions[at], {"a": value})) for at, value in values]
    return rows_of(subject(*versions), *data, have=have)


def columns_of(*kinds):
    """The columns when rows of all versions were met; it is the same whichever was first."""
    known = subject(*(record(("a", kind)) for kind in kinds))
    known = known.meet((at, FIRST) for at in known.versions)
    plan = plan_decoding(known, NOTHING)
    assert not plan.unusable
    for at in range(1, len(kinds)):
        older = subject(*(record(("a", kind)) for kind in kinds[:at]))
        lived = plan_decoding(known, plan_decoding(older, NOTHING).columns)
        assert not lived.unusable
        assert {field.name: field.type for field in lived.columns} == {
            field.name: field.type for field in plan.columns
        }
    return {field.name: field.type for field in plan.columns}


def beside(kind):
    return pa.struct([("member1", kind)])


A = record(("x", "int"), name="A")
B = record(("y", "string"), name="B")


@pytest.mark.parametrize(
    ("kinds", "column", "other"),
    [
        (["string", ["null", "string", "long"]], pa.string(), pa.int64()),
        (["string", ["null", "string", "long"], "string"], pa.string(), pa.int64()),
        (["string", ["string", "long"], "long"], pa.string(), pa.int64()),
        (["long", ["long", "string"]], pa.int64(), pa.string()),
        (["int", ["string", "long"]], pa.int64(), pa.string()),
        (["long", ["int", "long", "string"]], pa.int64(), pa.string()),
        (["long", ["long", "double", "null"]], pa.int64(), pa.float64()),
        (["long", ["long", "double"], "double"], pa.int64(), pa.float64()),
        (["string", ["string", "bytes"]], pa.string(), pa.binary()),
        (["boolean", ["boolean", "int"]], pa.bool_(), pa.int32()),
        ([A, [A, B]], pa.struct([("x", pa.int32())]), pa.struct([("y", pa.string())])),
        ([["int", "long"], ["string", "int"]], pa.int64(), pa.string()),
        ([decimal(9, 2), decimal(9, 4)], pa.decimal128(9, 2), pa.decimal128(9, 4)),
        (["long", ["null", MILLIS]], pa.int64(), None),
        (["int", DATE], pa.int32(), None),
        (["long", ["null", MILLIS, "string"]], pa.int64(), pa.string()),
        ([MILLIS, ["string", "long"], ["null", "long"]], MOMENT, pa.string()),
        (["int", ["int", MILLIS]], pa.int32(), MOMENT),
        (["int", MILLIS], pa.int64(), None),
        ([MILLIS, "long"], MOMENT, None),
        ([DATE, "int"], pa.date32(), None),
        ([MILLIS, MICROS, "long"], MOMENT, None),
        (["long", MILLIS, MICROS], pa.int64(), MOMENT),
        ([DATE, MILLIS], pa.date32(), MOMENT),
        (["double", MILLIS], pa.float64(), MOMENT),
        (["bytes", decimal(5, 2)], pa.binary(), None),
        ([decimal(5, 2), "bytes"], pa.decimal128(5, 2), None),
        (["bytes", decimal(5, 2), decimal(5, 3)], pa.binary(), pa.decimal128(5, 3)),
    ],
)
def test_the_column_stays_and_other_types_stand_beside_it(kinds, column, other):
    found = columns_of(*kinds)
    assert found == {"a": column, **({"a_other_types": beside(other)} if other else {})}


def test_each_value_is_in_one_of_both():
    kinds = ["string", ["null", "string", "long"], ["long", "boolean", "string"], "long", "string"]
    values = [(0, "a"), (1, "b"), (1, 2), (1, None), (2, 3), (2, True), (2, "c"), (3, 4), (4, "d")]
    rows = decoded(kinds, *values)
    assert [row["a"] for row in rows] == ["a", "b", None, None, None, None, "c", None, "d"]
    others = [row["a_other_types"] for row in rows]
    long, flag = (
        ({"member1": n, "member2": None} for n in (2, 3)),
        {"member1": None, "member2": True},
    )
    second, third = long
    assert others == [None, None, second, None, third, flag, None, {**third, "member1": 4}, None]


def test_a_type_among_several_stays_a_member_when_it_is_alone():
    kinds = [["null", "string", "long"], "string", ["null", "long"], "boolean"]
    rows = decoded(kinds, (0, "a"), (0, None), (1, "b"), (2, 3), (2, None), (3, True))
    empty = {"member0": None, "member1": None, "member2": None}
    assert [row["a"] for row in rows] == [
        {**empty, "member0": "a"},
        None,
        {**empty, "member0": "b"},
        {**empty, "member1": 3},
        None,
        {**empty, "member2": True},
    ]


def test_items_of_other_types_stand_beside_the_items_with_nulls_between():
    kinds = [
        {"type": "array", "items": "string"},
        ["null", {"type": "array", "items": ["long", "string"]}],
        {"type": "array", "items": "long"},
        [{"type": "array", "items": ["string", "long"]}, "boolean"],
    ]
    rows = decoded(kinds, (0, ["a"]), (1, ["b", 2]), (1, None), (2, [3]), (3, [4, "c"]), (3, True))
    assert [row["a"] for row in rows] == [["a"], ["b", None], None, None, [None, "c"], None]
    items = [row["a_items_other_types"] for row in rows]
    one = [{"member1": n} for n in range(5)]
    assert items == [None, [None, one[2]], None, [one[3]], [one[4], None], None]
    assert [row["a_other_types"] for row in rows] == [*[None] * 5, {"member1": True}]


def test_values_of_maps_and_fields_of_items_have_theirs_where_they_are():
    inner = [record(("x", kind), name="I") for kind in ("int", ["int", "string"])]
    maps = [{"type": "map", "values": kind} for kind in ("int", ["int", "string"])]
    of_records = [{"type": "array", "items": one} for one in inner]
    versions = [record(("m", m), ("r", r)) for m, r in zip(maps, of_records, strict=True)]
    value = {"m": {"a": 1, "b": "x"}, "r": [{"x": 2}, {"x": "y"}]}
    (row,) = rows_of(subject(*versions), framed(2, datum(versions[1], value)))
    assert row == {
        "m": [("a", 1), ("b", None)],
        "m_items_other_types": [("a", None), ("b", {"member1": "x"})],
        "r": [
            {"x": 2, "x_other_types": None},
            {"x": None, "x_other_types": {"member1": "y"}},
        ],
    }


def test_members_have_items_of_other_types_beside_them():
    arrays = [{"type": "array", "items": one} for one in ("int", ["int", "string"])]
    rows = decoded(
        [["null", arrays[0], "long"], ["null", "long", arrays[1]], arrays[1]],
        (0, [1]),
        (1, [2, "x"]),
        (2, ["y"]),
        (1, 7),
    )
    assert [row["a"] for row in rows] == [
        {"member0": [1], "member0_items_other_types": None, "member1": None},
        {
            "member0": [2, None],
            "member0_items_other_types": [None, {"member1": "x"}],
            "member1": None,
        },
        {"member0": [None], "member0_items_other_types": [{"member1": "y"}], "member1": None},
        {"member0": None, "member0_items_other_types": None, "member1": 7},
    ]


def test_many_items_of_other_types_are_found_one_by_one_too():
    kinds = [{"type": "array", "items": one} for one in ("string", ["string", "long"])]
    long = [n if n % 3 else str(n) for n in range(1000)]
    rows = decoded(kinds, (1, long), *[(1, [n]) for n in range(100)])
    assert rows[0]["a"] == [None if n % 3 else str(n) for n in range(1000)]
    found = [one and one["member1"] for one in rows[0]["a_items_other_types"]]
    assert found == [n if n % 3 else None for n in range(1000)]


def test_a_field_that_is_renamed_takes_what_is_beside_it_along():
    old = record(("a", ["null", "string"]))
    both = record(("a", ["null", "string", "long"]))
    new = record({"name": "b", "type": "string", "aliases": ["a"]})
    known = subject(old, both, new)
    values = [datum(old, {"a": "x"}), datum(both, {"a": 5}), datum(new, {"b": "y"})]
    rows = rows_of(known, *(framed(at + 1, one) for at, one in enumerate(values)))
    assert [row["b"] for row in rows] == ["x", None, "y"]
    assert [row["b_other_types"] for row in rows] == [None, {"member1": 5}, None]
    renames = plan_decoding(known, NOTHING).renames
    assert renames == Renames(now={"a": "b", "a_other_types": "b_other_types"})


def test_records_beside_a_column_evolve():
    more = record(
        {"name": "z", "type": "string", "aliases": ["y"]},
        {"name": "w", "type": "int", "default": 7},
        name="B",
    )
    rows = decoded([A, [A, B], [A, more]], (0, {"x": 1}), (1, ("B", {"y": "b"})))
    assert [row["a"] for row in rows] == [{"x": 1}, None]
    assert rows[1]["a_other_types"] == {"member1": {"z": "b", "w": 7}}


def test_a_default_goes_where_its_type_does():
    plain = record(("i", "int"))
    first = record(("i", "int"), {"name": "a", "type": "string", "default": "x"})
    later = record(("i", "int"), {"name": "a", "type": ["long", "string"], "default": 5})
    rows = rows_of(subject(plain, first, later), framed(1, datum(plain, {"i": 1})))
    assert rows == [{"i": 1, "a": None, "a_other_types": {"member1": 5}}]


def test_numbers_that_become_times_stay_numbers():
    rows = decoded(["long", ["null", MILLIS], "long", MICROS], (0, 1), (1, NOON), (2, 2), (3, NOON))
    millis = int(NOON.timestamp()) * 1000
    assert [row["a"] for row in rows] == [1, millis, 2, None]
    assert rows[3]["a_other_types"] == {"member1": NOON}


def test_times_that_become_numbers_stay_times_in_the_unit_that_they_had():
    rows = decoded([MILLIS, "long", "int"], (0, NOON), (1, 1_500), (2, 2), (1, 2**60))
    assert [row.get("a") for row in rows[:3]] == [
        NOON,
        datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=UTC),
        datetime(1970, 1, 1, 0, 0, 0, 2_000, tzinfo=UTC),
    ]
    beyond = ("undecodable", "a: a time is not between the years 1 and 9999")
    assert rows[3] == {"refused": beyond}
    assert decoded([DATE, "int"], (0, date(1970, 1, 3)), (1, 5))[1]["a"] == date(1970, 1, 6)


def test_decimals_and_their_bytes():
    price = Decimal("-1.25")
    raw = decoded(["bytes", decimal(5, 2)], (0, b"\1"), (1, price))
    assert [row["a"] for row in raw] == [b"\1", b"\x83"]
    told = decoded([decimal(5, 2), "bytes"], (0, price), (1, b"\x83"))
    assert [row["a"] for row in told] == [price, price]
    scaled = decoded([decimal(5, 2), decimal(7, 3)], (0, price), (1, Decimal("1.125")))
    assert [row["a"] for row in scaled] == [price, None]
    assert scaled[1]["a_other_types"] == {"member1": Decimal("1.125")}


def test_bytes_of_a_fixed_type_that_is_said_to_be_a_uuid_stay_bytes():
    plain = {"type": "fixed", "name": "F", "size": 16}
    rows = decoded([plain, {**plain, "logicalType": "uuid"}], (0, b"a" * 16), (1, b"b" * 16))
    assert [row["a"] for row in rows] == [b"a" * 16, b"b" * 16]


def test_what_avro_has_no_way_to_is_refused_until_a_union_has_it():
    rows = decoded(["int", "string"], (0, 1), (1, "x"), have=pa.schema([("a", pa.int32())]))
    detail = "field a is string in version 2, and the column is int"
    assert rows == [{"a": 1}, {"refused": ("incompatible_schema", detail)}]
    kinds = ["int", "string", ["int", "string"]]
    rows = decoded(kinds, (0, 1), (2, "y"), (2, 3), have=pa.schema([("a", pa.int32())]))
    assert [row["a"] for row in rows] == [1, None, 3]
    assert rows[1]["a_other_types"] == {"member1": "y"}


def test_a_field_of_the_name_that_is_beside_keeps_a_version_out():
    both = record(("a", ["string", "long"]), ("a_other_types", "int"))
    old = record(("a", "string"))
    rows = rows_of(subject(old, both), framed(2, datum(both, {"a": 1, "a_other_types": 2})))
    (reason, detail) = rows[0]["refused"]
    assert reason == "incompatible_schema"
    assert "two fields are column a_other_types" in detail


def test_broken_values_of_other_types_are_refused_once():
    kinds = ["string", ["string", MILLIS]]
    versions = [record(("a", kind)) for kind in kinds]
    whole = framed(2, datum(versions[1], {"a": NOON}))
    rows = rows_of(subject(*versions), whole, whole[:-1], framed(2, b"\4"), whole + b"\0")
    assert rows[0]["a_other_types"] == {"member1": NOON}
    assert [row["refused"][1] for row in rows[1:]] == [
        "a: the value ends too early",
        "a: a union of 2 types has no such one",
        "1 bytes are left over after the record",
    ]


def test_a_record_that_had_no_fields_is_null_before_and_after_it_has_some():
    old = record(("r", record(name="R")), ("i", "int"))
    new = record(("r", record(("x", ["null", "int"]), name="R")), ("i", "int"))
    row = framed(1, datum(old, {"r": {}, "i": 1}))
    assert rows_of(subject(old), row) == [{"i": 1}]
    assert rows_of(subject(old, new), row) == [{"r": None, "i": 1}]


def test_items_without_bytes_are_null_whatever_they_get_later():
    old, new = (
        record(("l", {"type": "array", "items": record(*fields, name="I")}), ("i", "int"))
        for fields in ((), ({"name": "x", "type": "int", "default": 7},))
    )
    row = framed(1, datum(old, {"l": [{}, {}], "i": 1}))
    assert rows_of(subject(old, new), row) == [{"l": None, "i": 1}]
