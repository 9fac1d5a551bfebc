import pytest
from pydantic import ValidationError

from lake_assets.model.expectations import Action
from lake_assets.model.feeds import Feed
from lake_assets.model.gold_views import GoldView
from lake_assets.model.keyed import History, Keyed
from lake_assets_tests.sample import GAMES

SQL = "select 1 from silver"

CHANGES = {"by": "id", "order": "version", "deletes": "op = 'D'"}


def feed(**more):
    declared = GAMES.model_dump(mode="json", include={"feed", "source", "payload", "route"})
    return Feed.model_validate({**declared, **more})


def test_a_keyed_feed_has_a_live_view_and_one_of_its_deletes():
    made = feed(keyed=CHANGES)
    current, deletes = made.gold
    assert (current.name, current.keyed, current.refresh.total_seconds()) == (
        "current",
        made.keyed,
        0,
    )
    assert (deletes.name, deletes.refresh, list(deletes.keys)) == (
        "current_deletes",
        current.refresh,
        ["id"],
    )
    assert feed(keyed={**CHANGES, "history": 2}).gold[0].name == "history"


def test_one_that_deletes_nothing_has_nothing_to_remember():
    (view,) = feed(keyed={"by": ["id"], "order": ["version"]}).gold
    assert view.name == "current"


def test_rows_that_change_nothing_are_refused_before_silver():
    (refusal,) = feed(keyed={**CHANGES, "order": ["version", "_offset"]}).expectations
    assert refusal.name == "current_has_key_and_order"
    assert refusal.action is Action.QUARANTINE
    assert refusal.sql == "`id` is not null and (version) is not null"


@pytest.mark.parametrize(
    ("order", "told"),
    [
        ("__lsn", True),
        ("_version", True),
        ("`_seq`", True),
        ("source._offset", True),
        ("source . `_offset`", True),
        ("concat(name, '_offset')", True),
        ("_offset", False),
        ("`_offset`", False),
        ("(_OFFSET)", False),
        ("-_partition", False),
        ("coalesce(lsn, _kafka_timestamp)", False),
        ("concat(_topic, '\\'', name)", False),
        ("_schema_id", False),
    ],
)
def test_an_order_is_judged_unless_it_reads_where_a_row_came_from(order, told):
    (refusal,) = feed(keyed={"by": "id", "order": order}).expectations
    assert refusal.sql == (
        f"`id` is not null and ({order}) is not null" if told else "`id` is not null"
    )


def test_a_truncate_needs_no_key():
    (refusal,) = feed(keyed={**CHANGES, "truncates": "op = 'T'"}).expectations
    assert refusal.sql == (
        "(`id` is not null or coalesce((op = 'T'), false)) and (version) is not null"
    )


def test_names_of_what_is_remembered_are_free_where_nothing_is():
    (view,) = feed(keyed={"by": "last_delete", "order": "version"}).gold
    assert view.keyed.by == ("last_delete",)


def test_a_feed_that_is_read_back_is_the_same():
    made = feed(keyed=CHANGES, gold=[{"name": "history", "keyed": {**CHANGES, "history": 2}}])
    assert Feed.model_validate(made.model_dump(mode="json")) == made
    assert [view.name for view in made.gold] == [
        "history",
        "current",
        "history_deletes",
        "current_deletes",
    ]


def test_history_is_one_or_two():
    assert Keyed.model_validate({**CHANGES, "history": 2}).history is History.ALL
    with pytest.raises(ValidationError, match="Input should be 1 or 2"):
        Keyed.model_validate({**CHANGES, "history": 3})


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"keyed": {**CHANGES, "by": []}}, "at least 1 item"),
        ({"keyed": {**CHANGES, "order": []}}, "at least 1 item"),
        ({"keyed": {**CHANGES, "by": ["id", "id"]}}, "id"),
        ({"keyed": {**CHANGES, "except_columns": ["id"]}}, "id is in `by`"),
        ({"keyed": {**CHANGES, "history": 2, "truncates": "op = 'T'"}}, "keeps its rows"),
        ({"keyed": {"by": "id"}}, "Field required"),
        ({"keyed": CHANGES, "retention": "30d"}, "silver keeps them"),
        (
            {"keyed": CHANGES, "layouts": {"uno": {"retention": "30d"}}},
            "silver keeps them",
        ),
        (
            {
                "keyed": CHANGES,
                "gold": [{"name": "current_deletes", "sql": SQL}],
            },
            "call the other one otherwise",
        ),
        *(
            ({"keyed": {**CHANGES, "by": by, "history": 2}}, "is a column of history_deletes")
            for by in (["id", "deleted"], "last_delete", ["last_truncate", "id"])
        ),
        (
            {"keyed": CHANGES, "gold": [{"name": "current", "sql": SQL}]},
            "current",
        ),
    ],
)
def test_what_cannot_be_is_refused(more, fact):
    with pytest.raises(ValidationError, match=fact):
        feed(**more)


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"sql": SQL}, "leave out what else computes"),
        ({"keys": ["id"], "measures": {"n": "count(*)"}}, "leave out what else computes"),
        ({"checks": [{"name": "all", "equals_source": "n"}]}, "a keyed table has fewer"),
    ],
)
def test_a_keyed_view_is_that_alone(more, fact):
    with pytest.raises(ValidationError, match=fact):
        GoldView.model_validate({"name": "current", "keyed": CHANGES, **more})
