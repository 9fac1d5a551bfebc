import pyarrow as pa
import pytest

from lake_assets.errors import RegistryError


def test_unsigned_integers_and_durations_get_types_that_delta_has(compiled):
    schemas = compiled(
        'import "google/protobuf/duration.proto"; '
        "message event { uint32 a = 1; fixed64 b = 2; google.protobuf.Duration c = 3; "
        "sint64 d = 4; }"
    )
    assert schemas.columns == pa.schema(
        [("a", pa.int64()), ("b", pa.decimal128(20, 0)), ("c", pa.int64()), ("d", pa.int64())]
    )


def test_a_durations_column_names_its_unit(compiled):
    schemas = compiled(
        'import "google/protobuf/duration.proto"; '
        "message event { google.protobuf.Duration a = 1; repeated google.protobuf.Duration b = 2; }"
    )
    comments = [field.metadata for field in schemas.columns]
    assert comments == [{b"comment": b"microseconds"}] * 2


def test_nested_types_are_converted_at_any_depth(compiled):
    schemas = compiled(
        "message event { map<uint32, N> a = 1; repeated N b = 2; N c = 3; } "
        "message N { repeated uint64 n = 1; }"
    )
    nested = pa.struct([("n", pa.list_(pa.field("item", pa.decimal128(20, 0))))])
    assert schemas.columns == pa.schema(
        [
            ("a", pa.map_(pa.int64(), nested)),
            ("b", pa.list_(pa.field("item", nested))),
            ("c", nested),
        ]
    )


def test_enums_and_times_are_readable(compiled):
    schemas = compiled(
        'import "google/protobuf/timestamp.proto"; '
        "message event { google.protobuf.Timestamp a = 1; E b = 2; } enum E { X = 0; }"
    )
    assert schemas.columns == pa.schema([("a", pa.timestamp("us", tz="UTC")), ("b", pa.string())])


def test_all_columns_are_nullable(compiled):
    assert all(field.nullable for field in compiled("message event { bool a = 1; }").columns)


def test_messages_without_fields_have_no_column(compiled):
    schemas = compiled(
        "message event { N a = 1; repeated N b = 2; map<int32, N> c = 3; O d = 4; bool e = 5; } "
        "message N {} message O { N n = 1; bool m = 2; }"
    )
    assert schemas.columns == pa.schema([("d", pa.struct([("m", pa.bool_())])), ("e", pa.bool_())])


def test_a_message_that_has_no_column_is_refused(compiled):
    with pytest.raises(RegistryError, match="message event of version 1 has no fields"):
        compiled("message event {}")


def test_a_field_named_like_an_origin_column_is_refused(compiled):
    with pytest.raises(RegistryError, match="field _Offset has the name"):
        compiled("message event { int32 _Offset = 1; }")


def test_names_that_differ_only_by_case_are_refused(compiled):
    with pytest.raises(RegistryError, match="conflicts with field 'Ab'"):
        compiled("message event { int32 aB = 1; int32 Ab = 2; }")


@pytest.mark.parametrize("field", ["N n = 1;", "repeated N n = 1;", "map<string, N> n = 1;"])
def test_nested_names_that_differ_only_by_case_are_refused(compiled, field):
    with pytest.raises(RegistryError, match="field 'a' conflicts with field 'A'"):
        compiled(f"message event {{ {field} }} message N {{ int32 a = 1; int32 A = 2; }}")
