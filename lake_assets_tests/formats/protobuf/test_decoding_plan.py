import pyarrow as pa
import pytest

from lake_assets.errors import RegistryError, SchemaUnusableError
from lake_assets.formats.confluent.schemas import Version
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.formats.questions import MessageQuestion
from lake_assets_tests.formats.protobuf.given import (
    NOTHING,
    asked,
    decode_all,
    framed,
    message_of,
    rows_of,
    schemas,
    versions,
)

ONE = "message event { string a = 1; int32 b = 2; }"
IMPORTS = (
    'import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; '
    'import "google/protobuf/wrappers.proto"; '
)


def evolve(old, new, old_values, new_values, have=NOTHING):
    """Rows of one old and one new message, when both versions are registered."""
    return rows_of(
        schemas(old, new),
        framed(1, message_of(old, **old_values)),
        framed(2, message_of(new, **new_values)),
        have=have,
    )


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [
        ("optional int32 c = 3;", 7, 7),
        ("int32 c = 3;", 0, 0),
        ("repeated int32 c = 3;", [1, 2], [1, 2]),
        ("map<string, int32> c = 3;", {"k": 1}, [("k", 1)]),
        ("google.protobuf.StringValue c = 3;", {"value": "x"}, "x"),
        ("google.protobuf.Duration c = 3;", {"seconds": 2}, 2_000_000),
        ("N c = 3;", {"x": 4}, {"x": 4}),
        ("oneof o { int32 c = 3; string d = 4; }", 5, 5),
        ("bytes c = 3;", b"\xff", b"\xff"),
        ("E c = 3;", 1, "Y"),
    ],
)
def test_a_new_field_is_null_in_old_messages_whatever_its_kind(field, value, found):
    more = "message N { int32 x = 1; } enum E { X = 0; Y = 1; }"
    new = f"{IMPORTS} message event {{ string a = 1; int32 b = 2; {field} }} {more}"
    before, after = evolve(ONE, new, {"a": "old", "b": 1}, {"a": "new", "c": value})
    assert (before["a"], before["b"], before["c"]) == ("old", 1, None)
    assert (after["a"], after["b"], after["c"]) == ("new", 0, found)


def test_a_renamed_field_has_its_new_name_in_messages_of_all_versions():
    new = "message event { string z = 1; int32 b = 2; }"
    assert evolve(ONE, new, {"a": "old"}, {"z": "new"}) == [
        {"z": "old", "b": 0},
        {"z": "new", "b": 0},
    ]


def test_a_field_renamed_and_widened_at_once_is_the_same_field():
    new = "message event { string a = 1; int64 z = 2; }"
    assert evolve(ONE, new, {"b": -1}, {"z": 2**40}) == [{"a": "", "z": -1}, {"a": "", "z": 2**40}]


def test_nested_fields_are_renamed_and_gained_too():
    old = (
        "message event { N n = 1; repeated N r = 2; map<string, N> m = 3; } "
        "message N { int32 x = 1; O o = 2; } message O { string s = 1; }"
    )
    new = (
        "message event { N n = 1; repeated N r = 2; map<string, N> m = 3; } "
        "message N { O p = 2; int32 x = 1; repeated int32 more = 3; } "
        "message O { string t = 1; bool b = 2; }"
    )
    nested = {"x": 1, "o": {"s": "x"}}
    before, _ = evolve(old, new, {"n": nested, "r": [nested], "m": {"k": nested}}, {})
    found = {"p": {"t": "x", "b": None}, "x": 1, "more": None}
    assert before == {"n": found, "r": [found], "m": [("k", found)]}


def test_a_field_whose_number_got_another_meaning_is_another_field():
    new = "message event { int32 z = 1; int32 b = 2; }"
    assert evolve(ONE, new, {"a": "old"}, {"z": 3}) == [
        {"z": None, "b": 0, "a": "old"},
        {"z": 3, "b": 0, "a": None},
    ]


def test_a_removed_field_keeps_its_values_in_old_messages():
    new = "message event { string a = 1; }"
    assert evolve(ONE, new, {"a": "old", "b": 9}, {"a": "new"}) == [
        {"a": "old", "b": 9},
        {"a": "new", "b": None},
    ]


def test_a_removed_field_stays_a_column_that_the_tables_have():
    new = "message event { string a = 1; }"
    have = pa.schema([("a", pa.string()), ("b", pa.int32())])
    found = plan_decoding(schemas(new), have)
    assert found.columns == have
    assert rows_of(schemas(new), framed(1, message_of(new, a="x")), have=have) == [
        {"a": "x", "b": None}
    ]


def test_a_removed_field_makes_no_column_before_its_messages_are_met():
    known = schemas(ONE, "message event { string a = 1; }")
    assert plan_decoding(known, NOTHING).columns.names == ["a"]
    found = decode_all(plan_decoding(known, NOTHING), framed(1, message_of(ONE)))
    assert asked(found) == [MessageQuestion(1, (0,))]
    assert plan_decoding(known.meet([(1, (0,))]), NOTHING).columns.names == ["a", "b"]


def test_a_removed_field_whose_name_another_has_now_is_left_out():
    old = "message event { string a = 1; string b = 2; int32 c = 3; }"
    new = "message event { string b = 1; int32 c = 3; }"
    assert evolve(old, new, {"a": "x", "b": "gone", "c": 1}, {"b": "y"}) == [
        {"b": "x", "c": 1},
        {"b": "y", "c": 0},
    ]


def test_two_fields_that_swap_their_names_are_told_apart_by_number():
    new = "message event { string b = 1; string a = 2; }"
    old = "message event { string a = 1; string b = 2; }"
    assert evolve(old, new, {"a": "one", "b": "two"}, {}) == [
        {"b": "one", "a": "two"},
        {"b": "", "a": ""},
    ]


def test_an_enum_value_has_the_name_that_its_version_gives_it():
    old = "message event { E e = 1; } enum E { X = 0; Y = 1; }"
    new = "message event { E e = 1; } enum E { X = 0; Y = 1; Z = 2; }"
    assert evolve(old, new, {"e": 1}, {"e": 2}) == [{"e": "Y"}, {"e": "Z"}]


@pytest.mark.parametrize(
    ("old", "new", "before", "after", "kind"),
    [
        ("int32", "int64", -(2**31), 2**40, pa.int64()),
        ("sint32", "sfixed64", -5, -(2**40), pa.int64()),
        ("uint32", "uint64", 2**32 - 1, 2**64 - 1, pa.decimal128(20, 0)),
        ("int64", "uint64", -(2**63), 2**64 - 1, pa.decimal128(20, 0)),
        ("int32", "uint32", -1, 2**32 - 1, pa.int64()),
        ("int32", "sint32", -1, -2, pa.int32()),
        ("float", "double", 0.5, 1e300, pa.float64()),
    ],
)
def test_types_widen_and_no_value_changes(old, new, before, after, kind):
    wide, narrow = (f"message event {{ {one} a = 1; }}" for one in (new, old))
    assert evolve(narrow, wide, {"a": before}, {"a": after}) == [{"a": before}, {"a": after}]
    assert plan_decoding(schemas(narrow, wide), NOTHING).columns.field("a").type == kind


def test_a_type_narrower_than_the_column_is_cast_up():
    narrow = "message event { int32 a = 1; }"
    have = pa.schema([("a", pa.int64())])
    assert plan_decoding(schemas(narrow), have).columns == have
    assert rows_of(schemas(narrow), framed(1, message_of(narrow, a=-1)), have=have) == [{"a": -1}]


def test_nested_types_widen_too():
    old = "message event { repeated N r = 1; map<int32, N> m = 2; } message N { int32 x = 1; }"
    new = "message event { repeated N r = 1; map<int64, N> m = 2; } message N { int64 x = 1; }"
    before, _ = evolve(old, new, {"r": [{"x": -1}], "m": {1: {"x": 2}}}, {})
    assert before == {"r": [{"x": -1}], "m": [(1, {"x": 2})]}


def test_a_version_that_does_not_fit_the_tables_is_refused_and_harms_no_other():
    new = "message event { string a = 1; string b = 2; }"
    have = pa.schema([("a", pa.string()), ("b", pa.int32())])
    said = "field b is string in version 2, and the column is int"
    assert evolve(ONE, new, {"a": "x", "b": 1}, {"a": "y"}, have) == [
        {"a": "x", "b": 1},
        {"refused": ("incompatible_schema", said)},
    ]


def test_where_there_are_no_tables_the_newest_version_says_what_the_columns_are():
    new = "message event { string a = 1; string b = 2; }"
    before, after = evolve(ONE, new, {"b": 1}, {"b": "x"})
    assert before["refused"][1] == "field b is int in version 1, and the column is string"
    assert after == {"a": "", "b": "x"}


def test_a_name_that_differs_from_a_column_by_case_alone_is_refused():
    new = "message event { string a = 1; int32 B = 3; }"
    have = pa.schema([("a", pa.string()), ("b", pa.int32())])
    _, after = evolve(ONE, new, {}, {}, have)
    assert after["refused"][1] == ("field B in version 2 differs from the column b by case alone")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("message event { string _Offset = 1; }", "field _Offset has the name of a column"),
        ("message event {}", "message event of version 2 has no fields"),
        ("enum E { A = 0; }", "version 2 defines no message"),
        ("message event { int32 aB = 1; int32 Ab = 2; }", "conflicts with field 'Ab'"),
    ],
)
def test_a_version_that_makes_no_columns_is_refused_alone(body, said):
    known = schemas(ONE, body)
    before, after = rows_of(known, framed(1, message_of(ONE, a="x")), b"\0\0\0\0\2\0")
    assert before == {"a": "x", "b": 0}
    assert (after["refused"][0], said in after["refused"][1]) == ("incompatible_schema", True)


def test_a_version_that_is_not_protobuf_is_refused_alone():
    known = schemas(ONE)
    broken = Version(number=2, problem="is AVRO, not PROTOBUF")
    known = schemas(versions={**known.versions, 2: broken})
    (_, after) = rows_of(known, framed(1, message_of(ONE)), b"\0\0\0\0\2\0")
    assert after["refused"] == ("incompatible_schema", "version 2 is AVRO, not PROTOBUF")


def test_without_tables_and_without_a_usable_version_there_is_nothing_to_settle():
    with pytest.raises(SchemaUnusableError, match="subject 's': version 1 defines no message"):
        plan_decoding(schemas("enum E { A = 0; }"), NOTHING)
    with pytest.raises(RegistryError, match="has no version"):
        plan_decoding(schemas(), NOTHING)


def test_with_tables_rows_are_refused_rather_than_waited_for():
    have = pa.schema([("a", pa.string())])
    assert plan_decoding(schemas("enum E { A = 0; }"), have).columns == have


def test_versions_that_read_alike_share_a_reader():
    new = f"{ONE[:-1]} optional string c = 3; }}"
    found = plan_decoding(schemas(ONE, new), NOTHING)
    assert len(found.readers) == 1
    assert set(found.places.values()) == {0}


def test_versions_of_the_same_text_are_one():
    found = plan_decoding(schemas(versions={**versions(ONE), **versions(ONE, first_id=9)}), NOTHING)
    assert set(found.places) == {(1, (0,)), (9, (0,))}


def test_settling_twice_changes_nothing():
    known = schemas(ONE, "message event { int64 b = 2; repeated uint64 c = 3; }")
    found = plan_decoding(known, NOTHING)
    assert plan_decoding(known, found.columns) == found


GAMES = "message Uno { string player = 1; int32 color = 2; } message Chess { string player = 1; }"
MORE_GAMES = (
    "message Uno { string player = 1; int32 color = 2; } "
    "message Chess { string player = 1; string opening = 2; }"
)
UNO, CHESS = (0,), (1,)


@pytest.mark.parametrize(
    ("met", "have", "expected"),
    [
        # Uno is alike in both, and all that the first Chess has is there by then.
        ({(1, UNO)}, NOTHING, {"Uno": {"player", "color"}, "Chess": {"player"}}),
        ({(1, CHESS)}, NOTHING, {"Chess": {"player"}}),
        (
            {(2, CHESS), (1, UNO)},
            NOTHING,
            {"Uno": {"player", "color"}, "Chess": {"player", "opening"}},
        ),
        # After a restart the tables alone tell what rows had.
        (
            set(),
            pa.schema([(name, pa.string()) for name in ("player", "opening")]),
            {"Chess": {"player", "opening"}},
        ),
    ],
)
def test_a_message_has_the_columns_of_its_versions_that_are_ready(met, have, expected):
    found = plan_decoding(schemas(GAMES, MORE_GAMES, met=frozenset(met)), have)
    assert found.message_columns == expected
    assert set().union(*found.message_columns.values()) <= {*found.columns.names}
