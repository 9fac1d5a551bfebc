"""Which of a schema's messages rows may have, and which of them make columns."""

import pyarrow as pa
import pytest

from lake_assets.errors import SchemaUnusableError
from lake_assets.formats.protobuf.decoding_plan import made_by, plan_decoding
from lake_assets.formats.questions import MessageQuestion
from lake_assets_tests.formats.protobuf.given import (
    NOTHING,
    asked,
    decode_all,
    framed,
    message_of,
    rows_of,
    schemas,
)

ONE = "message event { string a = 1; int32 b = 2; }"

HELPER_FIRST = (
    "message player { repeated int32 b = 1; string nick = 2; } "
    "message event { string game = 1; bool b = 2; player player = 3; }"
)
"""A helper message stands first, and has a field that does not go with the event's."""


def event_of(body, index=b"\2\2", **values):
    return framed(1, message_of(body, **values), index)


def test_a_helper_message_makes_no_columns_and_harms_no_rows():
    found = plan_decoding(schemas(HELPER_FIRST), NOTHING, "game")
    assert found.columns.names == ["game", "b", "player"]
    rows = rows_of(
        schemas(HELPER_FIRST),
        event_of(HELPER_FIRST, game="uno", b=True),
        framed(1, message_of(HELPER_FIRST, "player", nick="ann")),
        route="game",
    )
    said = "message player of version 1 has no field game, which says where a row goes"
    assert rows == [
        {"game": "uno", "b": True, "player": None},
        {"refused": ("foreign_message", said)},
    ]


@pytest.mark.parametrize(
    ("field", "is_taken"),
    [
        ("string game = 1;", True),
        ("optional int64 game = 1;", True),
        ("E game = 1;", True),
        ("bytes game = 1;", True),
        ("google.protobuf.StringValue game = 1;", True),
        ("oneof o { string game = 1; bool other = 2; }", True),
        ("repeated string game = 1;", False),
        ("map<string, string> game = 1;", False),
        ("N game = 1;", False),
        ("google.protobuf.Timestamp game = 1;", False),
        ("google.protobuf.Value game = 1;", False),
    ],
)
def test_a_route_is_a_field_that_can_be_read_as_text(field, is_taken):
    imports = "".join(
        f'import "google/protobuf/{name}.proto"; ' for name in ("timestamp", "wrappers", "struct")
    )
    body = (
        f"{imports} message first {{ {field} int32 a = 7; }} message event {{ string game = 1; }} "
        "message N { string game = 3; } enum E { X = 0; }"
    )
    found = plan_decoding(schemas(body), NOTHING, "game")
    assert ((1, (0,)) not in found.refusals) == is_taken
    said = "message first of version 1 has a field game that is no text"
    assert is_taken or found.refusals[1, (0,)][1].startswith(said)


CANDIDATES = (
    "message move { string game = 1; int32 x = 2; } message chat { string game = 1; string y = 2; }"
)


def test_of_several_candidates_none_makes_columns_before_its_rows_come():
    known = schemas(CANDIDATES)
    before = plan_decoding(known, NOTHING, "game")
    assert (before.columns.names, before.unused.names) == ([], ["game", "x", "y"])
    after = plan_decoding(known.meet([(1, (1,))]), NOTHING, "game")
    assert (after.columns.names, after.unused.names) == (["game", "y"], ["x"])


def test_each_candidate_is_known_by_the_columns_it_would_make():
    body = f"{CANDIDATES} message helper {{ bytes z = 1; }}"
    old = "message move { string game = 1; int32 was = 3; }"
    known = schemas(old, body)
    assert [one.names for one in made_by(known, "game")] == [["game", "x"], ["game", "y"]]
    met = known.meet([(1, (0,)), (2, (2,))])
    assert [one.names for one in made_by(met, "game")][2:] == [["game", "was"]]


def test_the_first_rows_of_several_candidates_are_decoded():
    move, chat = (message_of(CANDIDATES, name, game="go") for name in ("move", "chat"))
    rows = rows_of(schemas(CANDIDATES), framed(1, move), framed(1, chat, b"\2\2"), route="game")
    assert rows == [{"game": "go", "x": 0, "y": None}, {"game": "go", "x": None, "y": ""}]
    questions = decode_all(plan_decoding(schemas(CANDIDATES), NOTHING, "game"), framed(1, chat))
    assert asked(questions) == [MessageQuestion(1, (0,))]


def test_a_restart_goes_on_with_the_types_whose_columns_are_there():
    have = plan_decoding(schemas(CANDIDATES).meet([(1, (1,))]), NOTHING, "game").columns
    found = plan_decoding(schemas(CANDIDATES), have, "game")
    assert (found.columns, set(found.places)) == (have, {(1, (1,))})


def test_candidates_that_do_not_go_together_are_told_apart_by_their_rows():
    body = "message a { string game = 1; int32 x = 2; } message b { string game = 1; bool x = 2; }"
    a, b = (framed(1, message_of(body, n), p) for n, p in (("a", b"\0"), ("b", b"\2\2")))
    known = schemas(body).meet([(1, (1,))])
    assert rows_of(known, b, route="game") == [{"game": "", "x": False}]
    said = "field x is int in version 1, and the column is boolean"
    have = pa.schema([("game", pa.string()), ("x", pa.bool_())])
    assert rows_of(known, a, have=have, route="game") == [
        {"refused": ("incompatible_schema", said)}
    ]


def test_each_type_has_the_names_of_its_own_newest_version():
    old = "message a { string game = 1; int32 x = 2; } message b { string game = 1; int32 y = 2; }"
    new = (
        "message a { string game = 1; int32 x2 = 2; } message b { string game = 1; int32 y2 = 2; }"
    )
    newest = "message b { string game = 1; int32 y3 = 2; }"
    rows = rows_of(
        schemas(old, new, newest),
        framed(1, message_of(old, "a", x=1)),
        framed(1, message_of(old, "b", y=2), b"\2\2"),
        framed(2, message_of(new, "b", y2=3), b"\2\2"),
        route="game",
    )
    assert rows == [
        {"game": "", "x2": 1, "y3": None},
        {"game": "", "x2": None, "y3": 2},
        {"game": "", "x2": None, "y3": 3},
    ]


def test_a_route_that_was_renamed_is_the_same_field_in_old_messages():
    old, new = "message event { string g = 1; }", "message event { string game = 1; }"
    rows = rows_of(
        schemas(old, new),
        framed(1, message_of(old, g="uno")),
        framed(2, message_of(new, game="go")),
        route="game",
    )
    assert rows == [{"game": "uno"}, {"game": "go"}]


def test_a_version_that_renames_the_route_keeps_its_old_name_until_the_feed_says_otherwise():
    old, new = "message event { string game = 1; int32 b = 2; }", "message event { string g = 1; }"
    old_row, new_row = framed(1, message_of(old, game="uno")), framed(2, message_of(new, g="go"))
    for route, column in (("game", "game"), ("g", "g")):
        rows = rows_of(schemas(old, new), old_row, new_row, route=route)
        assert [row[column] for row in rows] == ["uno", "go"]


def test_a_version_without_the_route_is_refused_alone():
    old, new = "message event { string game = 1; int32 b = 2; }", "message event { int32 b = 2; }"
    rows = rows_of(
        schemas(old, new),
        framed(1, message_of(old, game="uno")),
        framed(2, message_of(new, b=1)),
        route="game",
    )
    said = "message event of version 2 has no field game, which says where a row goes"
    assert rows == [{"game": "uno", "b": 0}, {"refused": ("foreign_message", said)}]


@pytest.mark.parametrize("message", [None, "event"])
def test_a_feed_whose_schemas_have_no_such_field_is_told_so(message):
    said = "message event of version 1 has no field game, which says where a row goes"
    with pytest.raises(SchemaUnusableError, match=said):
        plan_decoding(schemas(ONE, message=message), NOTHING, "game")


TWO = "message event { string a = 1; } message other { int32 b = 1; message deep { bool c = 1; } }"


def test_a_schemas_other_messages_are_decoded_when_rows_name_them():
    found = rows_of(
        schemas(TWO),
        framed(1, message_of(TWO, a="x")),
        framed(1, message_of(TWO, "other", b=2), b"\2\2"),
        framed(1, message_of(TWO, "other.deep", c=True), b"\4\2\0"),
    )
    assert found == [
        {"a": "x", "b": None, "c": None},
        {"a": None, "b": 2, "c": None},
        {"a": None, "b": None, "c": True},
    ]


def test_messages_that_no_row_names_make_no_columns():
    assert plan_decoding(schemas(TWO), NOTHING).columns.names == []
    assert plan_decoding(schemas(TWO).meet([(1, (1,))]), NOTHING).columns.names == ["b"]


def test_another_message_may_not_fit_and_harms_none():
    body = "message event { string a = 1; } message other { int32 a = 1; }"
    found = rows_of(
        schemas(body),
        framed(1, message_of(body, a="x")),
        framed(1, message_of(body, "other", a=2), b"\2\2"),
    )
    said = "field a is int in version 1, and the column is string"
    assert found == [{"a": "x"}, {"refused": ("incompatible_schema", said)}]


def test_a_feed_may_take_one_message_type_alone():
    body = f"package p; {TWO}"
    found = rows_of(
        schemas(body, message="p.other"),
        framed(1, message_of(body, "p.event", a="x")),
        framed(1, message_of(body, "p.other", b=2), b"\2\2"),
    )
    said = "message p.event, and the feed takes p.other"
    assert found == [{"refused": ("foreign_message", said)}, {"b": 2}]


def test_the_one_message_type_may_stand_elsewhere_in_each_version():
    old = "message other { bool b = 1; } message event { int32 a = 1; }"
    known = schemas(old, "message event { int64 a = 1; }", message="event")
    old_row = framed(1, message_of(old, a=1), b"\2\2")
    assert rows_of(known, old_row) == [{"a": 1}]


def test_a_message_type_that_no_version_has_is_named():
    with pytest.raises(SchemaUnusableError, match=r"version 1 has no message p\.gone"):
        plan_decoding(schemas(ONE, message="p.gone"), NOTHING)


def test_the_only_message_type_may_be_renamed():
    new = "message Event { string a = 1; int32 c = 2; }"
    old_row, new_row = framed(1, message_of(ONE, b=1)), framed(2, message_of(new, "Event", c=2))
    assert rows_of(schemas(ONE, new), old_row, new_row) == [{"a": "", "c": 1}, {"a": "", "c": 2}]


def kinds_of(known, *values):
    """The type of each row's message; questions are answered."""
    found = decode_all(plan_decoding(known, NOTHING), *values)
    known = known.meet((one.schema_id, one.path) for one in found.questions)
    found = decode_all(plan_decoding(known, NOTHING), *values)
    return pa.array(found.messages, pa.string()).take(found.message).to_pylist()


def test_each_row_tells_the_type_of_its_message_by_its_newest_name():
    new = "message Event { string a = 1; int32 c = 2; }"
    old_row, new_row = framed(1, message_of(ONE, b=1)), framed(2, message_of(new, "Event", c=2))
    assert kinds_of(schemas(ONE, new), old_row, new_row) == ["Event", "Event"]
    assert kinds_of(schemas(ONE), old_row, old_row) == ["event", "event"]
    two = "message A { string a = 1; } message B { string a = 1; }"
    a, b = message_of(two, "A"), message_of(two, "B")
    values = [framed(1, a), framed(1, b, b"\2\2"), framed(1, b, b"\2\x14")]
    assert kinds_of(schemas(two), *values) == ["A", "B", None]
