import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed
from lake_assets.model.routes import Route
from lake_assets_tests.sample import GAMES


def routed(**route):
    return GAMES.model_copy(update={"route": Route.model_validate({"keys": ["uno"], **route})})


@pytest.mark.parametrize(
    ("route", "read", "is_key"),
    [
        ({"column": "game_name"}, "game_name", "game_name"),
        ({"column": "game_name", "aliases": {"Uno": "uno"}}, "game_name", None),
        ({"column": "a.b"}, None, None),
        ({"header": "h"}, None, None),
    ],
)
def test_a_column_may_hold_the_keys_or_texts_that_mean_them(route, read, is_key):
    feed = routed(**route)
    assert (feed.route_column, feed.key_column) == (read, is_key)
    assert feed.route_columns == ((read,) if read else ())
    assert feed.keeps_headers == ("header" in route)


def test_values_without_message_types_cannot_be_routed_by_them():
    declared = {
        "feed": "events",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"json": {"schema": "a string"}},
        "route": {"message": True, "keys": ["uno"]},
    }
    with pytest.raises(ValidationError, match="values of json have no message types"):
        Feed.model_validate(declared)


def test_a_feed_has_one_route_or_several_and_the_keys_of_all():
    declared = {
        "feed": "events",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"json": {"schema": "a string"}},
        "routes": [
            {"column": "a", "keys": ["uno", "poker"]},
            {"header": "h", "unknown": "create", "keys": ["poker", "audit"]},
        ],
    }
    feed = Feed.model_validate(declared)
    assert feed.keys == ("uno", "poker", "audit")
    assert (feed.creates_keys, feed.keeps_headers, feed.route_column) == (True, True, None)
    assert feed.has_rows_in_several_tables
    with pytest.raises(ValidationError, match="give either `route` or `routes`"):
        Feed.model_validate({**declared, "route": {"column": "a", "keys": ["uno"]}})


@pytest.mark.parametrize(
    "route",
    [
        {"route": {"column": "a", "keys": ["uno"]}},
        {"routes": [{"message": True, "keys": ["uno"]}, {"header": "h", "keys": ["uno"]}]},
        {},
    ],
)
def test_only_messages_tell_whose_columns_are_whose(route):
    declared = {
        "feed": "events",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"protobuf": {"subject": "s"}},
        "columns": "own",
    }
    by_message = {"route": {"message": True, "keys": ["uno"]}}
    assert Feed.model_validate({**declared, **by_message}).has_own_columns
    with pytest.raises(ValidationError, match="columns: own: only messages tell"):
        Feed.model_validate({**declared, **route})


KEYED = {"by": "id", "order": "version"}


@pytest.mark.parametrize(
    ("name", "beside"),
    [
        ("transform", {"transform": "package.module:function"}),
        ("select", {"select": ["*", "explode(moves) as move"]}),
        ("keyed", {"keyed": KEYED}),
        ("keyed", {"gold": [{"name": "now", "keyed": KEYED}]}),
        ("into", {"into": "others", "route": None}),
    ],
)
def test_own_columns_are_refused_beside_what_knows_no_messages(name, beside):
    declared = {
        "feed": "events",
        "source": {"kafka": {"topic": "t"}},
        "payload": {"protobuf": {"subject": "s"}},
        "route": {"message": True, "keys": ["uno"]},
    }
    with pytest.raises(ValidationError, match=f"columns: own: cannot be beside `{name}`, since"):
        Feed.model_validate({**declared, **beside, "columns": "own"})
    Feed.model_validate({**declared, **beside})
