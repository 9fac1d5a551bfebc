import pyarrow as pa
import pytest

from lake_assets.formats.protobuf.columns import MICROSECONDS
from lake_assets.formats.schema_merge import Mismatch, in_words, merge

DECIMAL = pa.decimal128(20, 0)


def schema(**fields):
    return pa.schema(list(fields.items()))


def merged(have, came):
    found = merge(schema(a=have), schema(a=came))
    assert isinstance(found, pa.Schema)
    return found.field("a").type


def test_columns_of_both_are_there_and_the_tables_come_first():
    found = merge(schema(b=pa.int32(), a=pa.string()), schema(a=pa.string(), c=pa.bool_()))
    assert found == schema(b=pa.int32(), a=pa.string(), c=pa.bool_())


def test_all_columns_are_nullable():
    strict = pa.schema([pa.field("a", pa.int32(), nullable=False)])
    assert merge(strict, strict).field("a").nullable


@pytest.mark.parametrize(
    ("narrow", "wide"),
    [
        (pa.int32(), pa.int64()),
        (pa.int32(), DECIMAL),
        (pa.int64(), DECIMAL),
        (pa.float32(), pa.float64()),
        (pa.list_(pa.int32()), pa.list_(pa.int64())),
        (pa.map_(pa.int32(), pa.float32()), pa.map_(pa.int64(), pa.float64())),
        (pa.struct([("x", pa.int32())]), pa.struct([("x", pa.int64()), ("y", pa.bool_())])),
    ],
)
def test_the_wider_type_holds_whichever_side_it_is_on(narrow, wide):
    assert merged(narrow, wide) == merged(wide, narrow) == merged(wide, wide) == wide


def test_structs_have_the_fields_of_both():
    have, came = pa.struct([("x", pa.int32())]), pa.struct([("y", pa.int32())])
    assert merged(have, came) == pa.struct([("x", pa.int32()), ("y", pa.int32())])


@pytest.mark.parametrize(
    ("have", "came", "field", "words"),
    [
        (pa.int64(), pa.string(), "a", ("string", "bigint")),
        (pa.int32(), pa.float64(), "a", ("double", "int")),
        (pa.bool_(), pa.int32(), "a", ("int", "boolean")),
        (pa.string(), pa.binary(), "a", ("binary", "string")),
        (pa.string(), pa.list_(pa.string()), "a", ("array<string>", "string")),
        (pa.list_(pa.int32()), pa.list_(pa.string()), "a", ("string", "int")),
        (
            pa.map_(pa.string(), pa.int32()),
            pa.map_(pa.bool_(), pa.int32()),
            "a",
            ("boolean", "string"),
        ),
        (
            pa.map_(pa.string(), pa.int32()),
            pa.map_(pa.string(), pa.bool_()),
            "a",
            ("boolean", "int"),
        ),
        (
            pa.struct([("x", pa.struct([("y", pa.int32())]))]),
            pa.struct([("x", pa.struct([("y", pa.bool_())]))]),
            "a.x.y",
            ("boolean", "int"),
        ),
        (pa.timestamp("us", tz="UTC"), pa.int64(), "a", ("bigint", "timestamp")),
    ],
)
def test_other_types_do_not_go_together(have, came, field, words):
    found = merge(schema(a=have), schema(a=came))
    assert (found.path, (found.came, found.have)) == (field, words)


def test_both_types_are_named():
    found = merge(schema(level=pa.int64()), schema(level=pa.string()))
    assert isinstance(found, Mismatch)
    assert found.in_words(3) == "field level is string in version 3, and the column is bigint"


def test_names_that_differ_by_case_alone_are_one_column_for_delta():
    found = merge(schema(level=pa.int64()), schema(Level=pa.int64()))
    assert isinstance(found, Mismatch)
    said = "field Level in version 3 differs from the column level by case alone"
    assert found.in_words(3) == said


def test_nested_names_are_compared_without_case_too():
    have, came = pa.struct([("x", pa.int32())]), pa.struct([("X", pa.int32())])
    found = merge(schema(a=have), schema(a=came))
    assert (found.path, found.have) == ("a.X", "a.x")


def test_microseconds_and_other_numbers_do_not_go_together():
    timed = pa.schema([pa.field("a", pa.int64(), metadata=MICROSECONDS)])
    found = merge(timed, schema(a=pa.int64()))
    assert (found.came, found.have) == ("bigint", "bigint of microseconds")
    assert merge(timed, timed).field("a").metadata == {b"comment": b"microseconds"}


def test_types_are_named_as_in_sql():
    kind = pa.struct(
        [
            ("l", pa.list_(DECIMAL)),
            ("m", pa.map_(pa.string(), pa.float32())),
            ("t", pa.timestamp("us", tz="UTC")),
            ("n", pa.timestamp("us")),
            ("o", pa.int8()),
        ]
    )
    assert in_words(kind) == (
        "struct<l: array<decimal(20,0)>, m: map<string, float>, t: timestamp, "
        "n: timestamp_ntz, o: tinyint>"
    )


@pytest.mark.parametrize(
    ("narrow", "wide", "both"),
    [
        (pa.int32(), pa.float32(), pa.float64()),
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.string(), pa.binary(), pa.binary()),
        (pa.decimal128(5, 2), pa.decimal128(9, 2), pa.decimal128(9, 2)),
        (pa.list_(pa.int32()), pa.list_(pa.float64()), pa.list_(pa.float64())),
    ],
)
def test_types_that_avro_promotes_are_one_where_that_is_asked_for(narrow, wide, both):
    one, other = schema(a=narrow), schema(a=wide)
    assert isinstance(merge(one, other), Mismatch)
    assert merge(one, other, promotes=True) == merge(other, one, promotes=True) == schema(a=both)


def test_decimals_of_other_scales_and_text_beside_numbers_stay_apart():
    pairs = [(pa.decimal128(5, 2), pa.decimal128(9, 3)), (pa.int32(), pa.string())]
    for have, came in pairs:
        assert isinstance(merge(schema(a=have), schema(a=came), promotes=True), Mismatch)


def test_columns_that_nothing_comes_to_are_the_same_object():
    have = merge(schema(a=pa.int64(), b=pa.list_(pa.string())), schema(c=pa.bool_()))
    assert merge(have, schema(a=pa.int32())) is have
    assert merge(have, schema(a=pa.decimal128(20, 0))) is not have
