import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed
from lake_assets.model.tombstones import tombstone_columns

KEYED = {"by": "id", "order": "_offset", "tombstones": True}


def feed(**more):
    declared = {"feed": "customers", "source": {"kafka": {"topic": "customers"}}}
    declared["payload"] = {"json": {"schema": "id bigint, shop string"}}
    return Feed.model_validate({**declared, **more})


def test_a_feeds_keyed_table_says_what_keys_are():
    assert tombstone_columns(feed(keyed=KEYED).gold) == ("id",)
    assert tombstone_columns(feed().gold) == ()
    assert tombstone_columns(feed(keyed={**KEYED, "tombstones": False}).gold) == ()


def test_a_table_that_takes_tombstones_remembers_them():
    assert [view.name for view in feed(keyed=KEYED).gold] == ["current", "current_deletes"]


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"keyed": {**KEYED, "order": "version"}}, "order by _offset"),
        ({"keyed": {**KEYED, "order": ["_offset", "version"]}}, "order by _offset"),
        (
            {"keyed": KEYED, "route": {"column": "shop", "keys": ["nord"]}},
            "shop belongs to `by`",
        ),
        (
            {"routes": [{"column": "id", "keys": ["1"]}, {"column": "shop", "keys": ["nord"]}]},
            "shop belongs to `by`",
        ),
        ({"route": {"sql": "lower(id)", "keys": ["1"]}}, r"lower\(id\) is no column"),
        ({"route": {"column": "id.part", "keys": ["1"]}}, "id.part is no column"),
        ({"route": {"header": "shop", "keys": ["nord"]}}, "header shop is no column"),
        ({"route": {"topic": True, "keys": ["nord"]}}, "topic is no column"),
        (
            {"routes": [{"column": "id", "keys": ["1"]}, {"header": "shop", "keys": ["nord"]}]},
            "header shop is no column",
        ),
        ({"deduplicate": {"key": ["id"], "within": "1h"}}, "take a tombstone for a copy"),
        ({"transform": "json:loads"}, "no values for json:loads\nleave out `transform`"),
        *(
            ({"select": items}, "`select` has not the column that tells them\nadd _tombstone")
            for items in (
                ["id", "upper(shop) as shop"],
                ["* except (shop, _tombstone)", "upper(shop) as shop"],
                ["* EXCEPT(`_Tombstone`)"],
                ["id", "false as _tombstone"],
            )
        ),
        (
            {"keyed": KEYED, "gold": [{"name": "other", "keyed": {**KEYED, "by": "shop"}}]},
            "read other columns from a key",
        ),
    ],
)
def test_tombstones_that_would_not_tell_are_refused(more, fact):
    with pytest.raises(ValidationError, match=fact):
        feed(**{"keyed": KEYED, **more})


@pytest.mark.parametrize(
    "items",
    [
        ["*"],
        ["* except (shop)", "upper(shop) as shop"],
        ["id", "_tombstone"],
        ["id", "`_tombstone`"],
        ["* except (_tombstone)", "_tombstone"],
    ],
)
def test_a_select_with_the_mark_may_be_beside_tombstones(items):
    assert tombstone_columns(feed(keyed=KEYED, select=items).gold) == ("id",)


def test_routes_by_what_a_key_tells_may_be_beside_tombstones():
    by = {**KEYED, "by": ["id", "shop"]}
    routes = [{"column": "shop", "keys": ["nord"]}, {"column": "id", "keys": ["1"]}]
    assert tombstone_columns(feed(keyed=by, routes=routes).gold) == ("id", "shop")


def test_a_feed_that_takes_no_tombstones_needs_no_mark():
    assert feed(keyed={"by": "id", "order": "_offset"}, select=["id"]).gold
