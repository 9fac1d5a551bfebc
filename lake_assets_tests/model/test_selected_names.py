import pytest

from lake_assets.model.feeds import Feed
from lake_assets.model.selected_names import names_given, names_taken, with_masked_as_text


@pytest.mark.parametrize(
    ("items", "given"),
    [
        (["*", "time as event_time"], {"event_time"}),
        (["*", "time as event_time", "date(event_time) as day"], {"event_time", "day"}),
        (["*", "owner.mail"], {"mail"}),
        (["*", "explode(items) as item", "posexplode(a) as (p, v)"], {"item", "p", "v"}),
        (["* except (level)", "cast(raw as int) as Level"], set()),
        (["* except (level)", "cast(level as int) as level"], set()),
        (["a", "owner.*", "*"], set()),
        (["this is ( no sql"], set()),
    ],
)
def test_names_that_no_value_may_take(items, given):
    assert names_given(items) == given


@pytest.mark.parametrize(
    ("json", "mask", "declared"),
    [
        ({"infer": True}, "card", "card string"),
        ({"infer": True, "hints": "n int"}, "card", "n int, card string"),
        ({"infer": True, "hints": "Card string"}, "card", "Card string"),
        ({"infer": True}, "mail", ""),
        ({"infer": True}, "_rescued", ""),
        ({"infer": True}, "no name", ""),
        ({"schema": "n int", "on_unknown": "add_columns"}, "card", "n int, card string"),
        ({"schema": "n int"}, "card", "n int"),
    ],
)
def test_masked_columns_that_values_bring_along_are_text(json, mask, declared):
    feed = Feed.model_validate(
        {
            "feed": "f",
            "source": {"kafka": {"topic": "f"}},
            "payload": {"json": json},
            "select": ["*", "owner.mail as mail"],
            "mask": {mask: "redact"},
        }
    )
    found = with_masked_as_text(feed).payload.json_
    assert (found.hints if found.infer else found.ddl) == declared


def test_names_that_the_feed_itself_has_are_taken():
    feed = Feed.model_validate(
        {
            "feed": "f",
            "source": {"kafka": {"topic": "f"}},
            "payload": {"json": {"infer": True, "hints": "id int, at int"}},
            "select": ["*", "at + 1 as later"],
            "keyed": {"by": "id", "order": "at", "history": 2},
        }
    )
    taken = names_taken(feed, {"country", "at"})
    assert {"_element", "_tombstone", "__start_at", "__end_at", "later", "country"} <= {*taken}
    assert "at" not in taken


def test_masked_columns_that_a_function_gives_are_none_of_the_values():
    payload = {"json": {"infer": True}}
    declared = {"feed": "f", "source": {"kafka": {"topic": "f"}}, "payload": payload}
    feed = Feed.model_validate({**declared, "mask": {"contact": "hash"}})
    assert with_masked_as_text(feed, {"contact"}) is feed


@pytest.mark.parametrize(
    ("item", "taken"),
    [
        ("explode(codes)", {"col"}),
        ("posexplode_outer(codes)", {"pos", "col"}),
        ("inline(items)", {"sku", "amount"}),
        ("INLINE_OUTER (Basket.Lines)", {"ean"}),
        ("inline(items) as (a, b)", {"a", "b"}),
        ("explode(items) as line", {"line"}),
        ("inline(codes)", set()),
        ("inline(nobody.knows)", set()),
        ("inline(items", set()),
    ],
)
def test_names_that_spark_gives_to_what_elements_have_are_taken(item, taken):
    ddl = "codes array<int>, items array<struct<sku: string, amount: int>>, "
    ddl += "basket struct<lines: array<struct<ean: string>>>"
    feed = Feed.model_validate(
        {
            "feed": "f",
            "source": {"kafka": {"topic": "f"}},
            "payload": {"json": {"infer": True, "hints": ddl}},
            "select": ["* except (items, basket, codes)", item],
        }
    )
    assert {*names_taken(feed)} - {"_element", "_tombstone"} == taken
