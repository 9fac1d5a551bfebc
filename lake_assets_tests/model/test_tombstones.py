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
            {"keyed": KEYED, "gold": [{"name": "other", "keyed": {**KEYED, "by": "shop"}}]},
            "read other columns from a key",
        ),
    ],
)
def test_tombstones_that_would_not_tell_are_refused(more, fact):
    with pytest.raises(ValidationError, match=fact):
        feed(**more)
