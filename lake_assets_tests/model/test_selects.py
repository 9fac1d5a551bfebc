"""Selects and masks of keys: what a feed may declare beside them."""

import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed


def feed(**more):
    return Feed.model_validate(
        {
            "feed": "play",
            "source": {"kafka": {"topic": "play"}},
            "payload": {"json": {"schema": "kind string, ante int, items array<int>"}},
            "route": {"column": "kind", "keys": ["uno", "poker"]},
            **more,
        }
    )


POKER = {"poker": ["* except (ante)", "ante / 100d as stake"]}


def test_a_key_has_its_own_select_or_all_columns():
    declared = feed(selects=POKER)
    assert declared.select_of("poker") == tuple(POKER["poker"])
    assert declared.select_of("uno") == ("*",)
    assert declared.has_own_columns
    assert declared.has_other_keys
    assert not feed(selects={**POKER, "uno": ["*"]}).has_other_keys
    assert Feed.model_validate(declared.model_dump()) == declared


def test_what_holds_keys_may_be_another_column_by_then():
    assert feed().key_column == "kind"
    assert feed(selects=POKER).key_column is None
    assert feed(masks={"uno": {"kind": "redact"}}).key_column is None


def test_a_hash_of_any_key_hashes():
    assert not feed(masks={"uno": {"kind": "redact"}}).hashes
    assert feed(masks={"uno": {"kind": "hash"}}).hashes
    assert feed(mask={"kind": "hash"}).hashes


CURRENT = {"by": ["kind"], "order": "ante"}

OTHER = {"partition_by": "kind"}


@pytest.mark.parametrize(
    ("declared", "fact"),
    [
        ({"selects": {"chess": ["*"]}}, "selects: chess is no key of this feed, which has uno"),
        ({"masks": {"chess": {"kind": "hash"}}}, "masks: chess is no key"),
        ({"layouts": {"chess": OTHER}}, "layouts: chess is no key"),
        ({"selects": {"uno": []}}, "at least 1 item"),
        ({"masks": {"uno": {}}}, "at least 1 item"),
        ({"selects": {"uno": [" "]}}, "an item of select is empty"),
        ({"selects": {"uno": ["explode(items) as item"]}}, "uno: 'explode.* makes several rows"),
        ({"selects": POKER, "select": ["kind", "explode(items) as i"]}, "beside `explode`"),
        ({"masks": {"uno": {"kind": "hash"}}, "keyed": CURRENT}, "masks: cannot be beside `keyed`"),
        ({"selects": POKER, "into": "games"}, "selects: cannot be beside `into`"),
        (
            {
                "selects": POKER,
                "columns": "own",
                "payload": {"protobuf": {"subject": "play-value"}},
                "route": {"message": True, "keys": ["uno", "poker"]},
            },
            "beside `columns: own`",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(declared, fact):
    with pytest.raises(ValidationError, match=fact):
        feed(**declared)


def test_a_key_that_may_come_may_have_its_own():
    route = {"column": "kind", "unknown": "create"}
    declared = feed(route=route, selects={"chess": ["kind"]}, masks={"go": {"kind": "hash"}})
    assert declared.has_other_keys
