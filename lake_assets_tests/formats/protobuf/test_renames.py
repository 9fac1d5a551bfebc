import pytest

from lake_assets.delta.renamed_columns import Renames
from lake_assets.formats.protobuf.decoders import descriptor_of
from lake_assets.formats.protobuf.decoding_plan import plan_decoding
from lake_assets.formats.protobuf.renames import renames_of
from lake_assets_tests.formats.protobuf.given import NOTHING, descriptor_set_of, schemas

ONE = "message event { string a = 1; int32 b = 2; }"


def renames(*bodies):
    """Of the versions of an event, the last of which is the newest."""
    versions = [descriptor_of("event", descriptor_set_of(body)) for body in bodies]
    return renames_of([(version, versions[-1]) for version in versions])


def of(fields):
    return f"message event {{ {fields} }}"


@pytest.mark.parametrize(
    ("later", "now"),
    [
        (["string a = 1; int32 bb = 2;"], {"b": "bb"}),
        (["string a = 1; int64 bb = 2;"], {"b": "bb"}),
        (["string a = 1; int32 bb = 2;", "string a = 1; int32 c = 2;"], {"b": "c", "bb": "c"}),
        (["string a = 1; int32 bb = 2;", "string a = 1; int32 b = 2;"], {"bb": "b"}),
        (["string a = 1;"], {}),
        (["string a = 1; string bb = 2;"], {}),  # another field of that number
        (["string b = 1; int32 a = 2;"], {}),  # swapped: which field a value is of, no name tells
        (["int32 a = 2;"], {}),  # a is what b was, and was another
        (["string a = 1; int32 bb = 2; bool b = 3;"], {}),  # b is another field by now
        (["string a = 1; int32 B = 2;"], {}),  # by case alone, which no table can have
    ],
)
def test_a_name_counts_that_stood_for_one_field(later, now):
    assert renames(ONE, *map(of, later)) == Renames(now=now)


def test_names_within_messages_lists_and_maps_are_found():
    fields = "N n = 1; repeated N r = 2; map<string, N> m = 3;"
    old = f"{of(fields)} message N {{ int32 x = 1; O o = 2; }} message O {{ bool s = 1; }}"
    new = f"{of(fields)} message N {{ int32 y = 1; O p = 2; }} message O {{ bool t = 1; }}"
    inner = Renames(now={"x": "y", "o": "p"}, within={"p": Renames(now={"s": "t"})})
    assert renames(old, new) == Renames(within={"n": inner, "r": inner, "m": inner})


def test_a_message_within_itself_comes_to_an_end():
    old, new = of("event e = 1; int32 x = 2;"), of("event e = 1; int32 y = 2;")
    assert renames(old, new) == Renames(now={"x": "y"})


def test_a_name_that_another_message_of_the_table_has_is_left_alone():
    other = "message other { string a = 1; int32 b = 3; }"
    found = plan_decoding(
        schemas(f"{ONE} {other}", f"{of('string a = 1; int32 bb = 2;')} {other}"), NOTHING
    )
    assert found.renames == Renames()
    alone = plan_decoding(schemas(ONE, of("string a = 1; int32 bb = 2;")), NOTHING)
    assert alone.renames == Renames(now={"b": "bb"})
