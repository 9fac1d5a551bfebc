import pytest

from lake_assets.formats.protobuf.decoders import descriptor_of, handler_of
from lake_assets.formats.protobuf.messages import in_words, messages_of, reads_alike, renamed
from lake_assets_tests.formats.protobuf.given import descriptor_set_of

BASE = "optional int32 a = 1; E e = 2; N n = 3; oneof o { int32 p = 4; string q = 5; }"
MORE = "enum E { X = 0; Y = 1; } message N { int32 x = 1; }"


def alike(old, new, old_more=MORE, new_more=MORE):
    own, newest = (
        descriptor_of("event", descriptor_set_of(f"message event {{ {body} }} {more}"))
        for body, more in ((old, old_more), (new, new_more))
    )
    return reads_alike(own, newest)


def test_messages_are_found_by_where_they_stand():
    found = messages_of(
        descriptor_set_of(
            "package p; message a { message b {} map<int32, b> m = 1; message c { message d {} } } "
            "message e {}"
        )
    )
    assert found == {
        (0,): "p.a",
        (0, 0): "p.a.b",
        (0, 2): "p.a.c",
        (0, 2, 0): "p.a.c.d",
        (1,): "p.e",
    }


def test_a_place_is_shown_with_dots():
    assert in_words((2, 0)) == "2.0"


@pytest.mark.parametrize(
    "added",
    ["", "optional int32 z = 9;", "N z = 9;", "oneof r { int32 y = 9; N z = 10; }"],
)
def test_fields_that_are_null_where_they_are_missing_change_nothing(added):
    assert alike(BASE, f"{BASE} {added}")


@pytest.mark.parametrize(
    "added", ["int32 z = 9;", "repeated int32 z = 9;", "map<int32, int32> z = 9;", "E z = 9;"]
)
def test_fields_that_are_never_null_do(added):
    assert not alike(BASE, f"{BASE} {added}")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("int32 p = 4;", "int64 p = 4;"),
        ("int32 p = 4;", "sint32 p = 4;"),
        ("int32 p = 4;", ""),
        ("E e = 2;", "int32 e = 2;"),
        ("N n = 3;", "repeated N n = 3;"),
        ("optional int32 a = 1;", "int32 a = 1;"),
        ("{ int32 p = 4; string q = 5; }", "{ int32 p = 4; } optional string q = 5;"),
    ],
)
def test_whatever_else_changes_matters(old, new):
    assert old in BASE
    assert not alike(BASE, BASE.replace(old, new))


def test_nested_messages_and_enums_must_read_alike_too():
    assert alike(BASE, BASE, MORE, MORE.replace("Y = 1;", "Y = 1; Z = 2;"))
    assert not alike(BASE, BASE, MORE, MORE.replace("Y = 1;", "Z = 1;"))
    assert not alike(BASE, BASE, MORE, MORE.replace("int32 x", "int64 x"))


def test_a_message_within_itself_is_compared_once():
    assert alike("event e = 1;", "event e = 1; optional bool b = 2;")


def test_names_are_those_of_the_same_numbers():
    old, new = (
        descriptor_set_of(f"message event {{ {body} }} message N {{ {nested} }}")
        for body, nested in (
            ("int32 a = 1; repeated N n = 2; bool gone = 3;", "int32 x = 1;"),
            ("int64 b = 1; repeated N m = 2;", "string more = 2; int32 y = 1;"),
        )
    )
    own, newest = descriptor_of("event", old), descriptor_of("event", new)
    found = renamed(handler_of("event", old).schema(), own, newest)
    assert found.names == ["b", "m", "gone"]
    assert str(found.field("m").type.value_type) == "struct<y: int32 not null>"
