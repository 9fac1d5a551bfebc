import pytest
from pydantic import ValidationError

from lake_assets.model.routes import Route


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({}, "give one of column, sql, header, topic and message"),
        ({"column": "a", "header": "b"}, "give one of column, sql, header, topic and message"),
        ({"topic": False}, "give one of column"),
        ({"column": "a..b"}, "neither a column nor a field of one"),
        ({"column": "lower(a)"}, "route by `sql`"),
        ({"column": "Kind"}, "neither a column"),
        ({"header": "a\nb"}, "has control characters"),
        ({"header": ""}, "at least 1 character"),
        ({"sql": ""}, "at least 1 character"),
        ({"column": "a", "aliases": {"Chess": "chess"}}, "'Chess' means chess, which is none"),
        ({"column": "a", "aliases": {"uno": "poker"}}, "'uno' is a key itself"),
        ({"column": "a", "aliases": {"Uno": "Uno"}}, "cannot name a table"),
        ({"column": "a", "keys": []}, "would quarantine everything"),
        ({"column": "a", "keys": ["uno", "uno"]}, "given twice: uno"),
    ],
)
def test_what_cannot_route_is_refused(declared, told):
    with pytest.raises(ValidationError, match=told):
        Route.model_validate({"keys": ["uno", "poker"], **declared})


@pytest.mark.parametrize(
    ("declared", "what", "expression", "plain"),
    [
        ({"column": "a"}, "a", None, "a"),
        ({"column": "a.B.c"}, "a.B.c", "`a`.`B`.`c`", None),
        ({"sql": "lower(a)"}, "lower(a)", "lower(a)", None),
        ({"header": "event-type"}, "header event-type", None, None),
        ({"topic": True}, "topic", None, None),
        ({"message": True}, "message type", None, None),
    ],
)
def test_a_route_reads_one_thing(declared, what, expression, plain):
    route = Route.model_validate({"keys": ["uno"], **declared})
    assert (route.what, route.expression, route.plain_column) == (what, expression, plain)


def test_several_texts_may_mean_one_key_and_new_ones_where_tables_are_created():
    aliases = {"Uno": "uno", "UNO": "uno", "uno": "uno", "Chess": "chess"}
    route = Route(column="a", keys=("uno",), unknown="create", aliases=aliases)
    assert route.aliases == aliases
