"""Versions beside each other; random ones are in `test_property`."""

import pyarrow as pa
import pytest

from lake_assets.delta.renamed_columns import Renames
from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.formats.avro.decoding_plan import made_by, plan_decoding
from lake_assets.formats.confluent.schemas import FIRST, Version
from lake_assets_tests.formats.avro.given import (
    NOTHING,
    datum,
    decode_all,
    framed,
    record,
    rows_of,
    subject,
)


def test_the_newest_version_leads_and_older_columns_come_with_their_rows():
    known = subject(record(("a", "int"), ("b", "string")), record(("c", "int"), ("a", "int")))
    plan = plan_decoding(known, NOTHING)
    assert (plan.columns.names, plan.open_ids, set(plan.readers)) == (["c", "a"], {1}, {2})
    met = plan_decoding(known.meet([(1, FIRST)]), NOTHING)
    assert (met.columns.names, set(met.readers)) == (["c", "a", "b"], {1, 2})
    assert [one.names for one in made_by(known.meet([(1, FIRST)]))] == [["c", "a"], ["a", "b"]]


@pytest.mark.parametrize(
    ("old", "new", "column"),
    [
        ("int", "long", pa.int64()),
        ("long", "int", pa.int64()),
        ("int", "float", pa.float64()),
        ("long", "double", pa.float64()),
        ("double", "int", pa.float64()),
        ("string", "bytes", pa.binary()),
        ("bytes", "string", pa.binary()),
        ("string", ["null", "string"], pa.string()),
    ],
)
def test_a_type_is_the_widest_of_all_versions(old, new, column):
    known = subject(record(("a", old)), record(("a", new))).meet([(1, FIRST)])
    assert plan_decoding(known, NOTHING).columns.field("a").type == column
    of_old = plan_decoding(subject(record(("a", old))), NOTHING).columns
    assert plan_decoding(known, of_old).columns.field("a").type == column


def test_texts_and_bytes_of_any_version_are_one_column_of_bytes():
    schemas = [record(("a", "string")), record(("a", "bytes")), record(("a", "string"))]
    data = [framed(1, b"\x04\xc3\xbc"), framed(2, b"\x02\xff"), framed(3, b"\x02x")]
    rows = rows_of(subject(*schemas), *data)
    assert [row["a"] for row in rows] == ["ü".encode(), b"\xff", b"x"]


def test_a_field_that_was_renamed_twice_is_one_column_with_its_older_names():
    schemas = [
        record(("a", "int"), ("r", record(("p", "int"), name="R"))),
        record(
            {"name": "b", "type": "int", "aliases": ["a"]},
            ("r", record(("p", "int"), name="R")),
        ),
        record(
            {"name": "c", "type": "long", "aliases": ["b"]},
            ("r", record({"name": "q", "type": "int", "aliases": ["p"]}, name="R")),
        ),
    ]
    known = subject(*schemas)
    values = [{"a": 1, "r": {"p": 5}}, {"b": 2, "r": {"p": 6}}, {"c": 3, "r": {"q": 7}}]
    data = [
        framed(i + 1, datum(schema, value))
        for i, (schema, value) in enumerate(zip(schemas, values, strict=True))
    ]
    assert rows_of(known, *data) == [{"c": n, "r": {"q": n + 4}} for n in (1, 2, 3)]
    renames = plan_decoding(known, NOTHING).renames
    assert renames == Renames(now={"a": "c", "b": "c"}, within={"r": Renames(now={"p": "q"})})


def test_a_name_that_was_two_fields_is_no_older_name():
    swapped = [
        {"name": "a", "type": "int", "aliases": ["b"]},
        {"name": "b", "type": "int", "aliases": ["a"]},
    ]
    known = subject(record(("a", "int"), ("b", "int")), record(*swapped))
    assert not plan_decoding(known, NOTHING).renames
    value = framed(1, datum(record(("a", "int"), ("b", "int")), {"a": 1, "b": 2}))
    assert rows_of(known, value) == [{"a": 1, "b": 2}]


def test_a_name_that_was_given_to_another_field_says_by_alias_which_is_which():
    old = record(("a", "int"))
    new = record(
        {"name": "a", "type": "string", "default": "fresh"},
        {"name": "b", "type": "int", "aliases": ["a"]},
    )
    value = framed(1, datum(old, {"a": 1}))
    assert rows_of(subject(old, new), value) == [{"a": "fresh", "b": 1}]


def test_defaults_are_the_newest_versions_at_any_depth():
    inner = record(("x", "int"), {"name": "y", "type": "string", "default": "new"}, name="I")
    kept = {"type": "long", "logicalType": "timestamp-millis"}
    new = record(
        ("i", {"type": "array", "items": inner}),
        {"name": "t", "type": kept, "default": 1},
        {"name": "n", "type": ["null", "int"], "default": None},
        {"name": "l", "type": {"type": "array", "items": "int"}, "default": [1, 2]},
    )
    new["fields"].append({"name": "z", "type": kept, "default": 2**60})
    old = record(("i", {"type": "array", "items": record(("x", "int"), name="I")}))
    (row,) = rows_of(subject(old, new), framed(1, datum(old, {"i": [{"x": 1}]})))
    assert row["t"].microsecond == 1000
    assert (row["i"], row["n"], row["l"]) == ([{"x": 1, "y": "new"}], None, [1, 2])
    assert row["z"] is None  # beyond the year 9999


def test_types_of_unions_keep_their_members_and_new_ones_come_last():
    old, new = record(("a", ["int", "string"])), record(("a", ["null", "double", "string", "int"]))
    values = [(1, old, 1), (1, old, "x"), (2, new, 0.5), (2, new, "y"), (2, new, None)]
    data = [framed(i, datum(schema, {"a": value})) for i, schema, value in values]
    have = plan_decoding(subject(old), NOTHING).columns
    found = [row["a"] for row in rows_of(subject(old, new), *data, have=have)]
    members = [(0, 1), (1, "x"), (2, 0.5), (1, "y")]
    assert found == [
        *({f"member{i}": value if i == at else None for i in range(3)} for at, value in members),
        None,
    ]


def test_a_version_that_does_not_fit_the_tables_harms_its_own_rows_alone():
    old, new = record(("a", "int")), record(("a", "string"), ("b", "int"))
    have = plan_decoding(subject(old), NOTHING).columns
    known = subject(old, new)
    rows = rows_of(
        known, framed(1, datum(old, {"a": 1})), framed(2, datum(new, {"a": "x", "b": 1})), have=have
    )
    detail = "field a is string in version 2, and the column is int"
    assert rows == [{"a": 1}, {"refused": ("incompatible_schema", detail)}]


def test_decimals_get_more_digits():
    def of(precision):
        return {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": 2}

    plan = plan_decoding(subject(record(("a", of(5))), record(("a", of(9)))), NOTHING)
    assert plan.columns.field("a").type == pa.decimal128(9, 2)
    assert set(plan.readers) == {1, 2}


def test_the_route_decides_which_versions_are_taken():
    without, nested = record(("a", "int")), record(("k", record(("x", "int"), name="N")))
    good = record(("a", "int"), ("k", "string"))
    plan = plan_decoding(subject(without, nested, good), NOTHING, "k")
    assert plan.unusable == {
        1: "record event of version 1 has no field k, which says where a row goes",
        2: "record event of version 2 has a field k that is no text, and it says where a row goes",
    }
    filled = record(("a", "int"), {"name": "k", "type": "string", "default": "uno"})
    found = decode_all(subject(without, filled), framed(1, datum(without, {"a": 1})), route="k")
    assert found.columns.to_pylist() == [{"a": 1, "k": "uno"}]


def test_a_subject_without_columns_says_why():
    with pytest.raises(RegistryError, match="has no version"):
        plan_decoding(subject(), NOTHING)
    broken = subject(versions={1: Version(number=1, problem="is PROTOBUF, not AVRO")})
    with pytest.raises(SchemaUnusableError, match="version 1 is PROTOBUF, not AVRO"):
        plan_decoding(broken, NOTHING)
    assert plan_decoding(broken, pa.schema([("a", pa.int32())])).unusable.keys() == {1}


def test_a_version_is_left_out_that_would_round_a_column_which_is_to_stay():
    inner = [record(("x", kind), name="I") for kind in ("long", "double")]
    old, new = (
        record(("a", kind), ("i", one)) for kind, one in zip(("int", "float"), inner, strict=True)
    )
    have = plan_decoding(subject(old), NOTHING).columns
    kept = plan_decoding(subject(old, new).keep_integers(["i"]), have)
    assert kept.columns == have
    assert kept.unusable[2].startswith("field i is struct<x: double> in version 2, and the column")
    assert plan_decoding(subject(old, new).keep_integers(["other"]), have).readers.keys() == {1, 2}


def test_what_is_filled_in_of_a_record_is_its_column():
    old, new = record(("id", "int")), record(("id", "int"), ("n", "int", 7))
    found = plan_decoding(subject(old, new), NOTHING)
    ((name, columns),) = found.message_columns.items()
    assert (name, columns) == (next(iter(found.readers.values())).name, {"id", "n"})
