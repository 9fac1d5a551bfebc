import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed

SINK = {
    "name": "api",
    "from": "bronze",
    "rest": {"url": "http://127.0.0.1/rows", "allow_private": True},
}


def _feed(**changes):
    declared = {
        "feed": "plays",
        "silver": "none",
        "source": {"kafka": {"topic": "plays"}},
        "payload": {"json": {"schema": "player string, at timestamp"}},
        "sinks": [SINK],
    }
    return Feed.model_validate({**declared, **changes})


def test_a_feed_without_silver_has_no_key():
    feed = _feed()
    assert not feed.has_silver
    assert feed.keys == ()
    assert not feed.expectations


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"silver": "tables"}, "sink api: `from: bronze` is of feeds without silver tables"),
        ({"sinks": []}, "silver: none: the feed has no sink"),
        ({"sinks": [{**SINK, "from": "silver"}]}, "sink api: `from: silver` is of feeds with"),
        ({"sinks": [SINK, {**SINK, "name": "b", "from": "silver"}]}, "sink b: `from: silver`"),
        ({"sinks": [{**SINK, "key": ["player"]}]}, "key: is of sinks of views"),
        ({"silver": "some"}, "Input should be 'tables' or 'none'"),
        ({"route": {"column": "player", "keys": ["ann"]}}, "route: is of feeds with silver"),
        ({"select": ["player"]}, "select: is of feeds with silver tables"),
        ({"mask": {"player": "redact"}}, "mask: is of feeds with silver tables"),
        ({"transform": "some.module:function"}, "transform: is of feeds with silver tables"),
        (
            {"expectations": [{"name": "a", "sql": "player <> ''", "action": "drop"}]},
            "expectations: is of feeds with silver tables",
        ),
        ({"deduplicate": {"key": ["player"], "within": "1h"}}, "deduplicate: is of feeds with"),
        (
            {"gold": [{"name": "v", "sql": "select player from silver"}]},
            "gold: is of feeds with silver",
        ),
        ({"keyed": {"by": ["player"], "order": ["at"]}}, "keyed: is of feeds with silver"),
        ({"retention": "90d"}, "retention: is of feeds with silver tables"),
        ({"partition_by": {"player": "player"}}, "partition_by: is of feeds with silver tables"),
        ({"quarantine": {"retention": "90d"}}, "quarantine: is of feeds with silver tables"),
        ({"payload": {"json": {"infer": True}}}, "payload: without silver tables nothing keeps"),
    ],
)
def test_what_is_of_silver_is_refused_without_it(changes, told):
    with pytest.raises(ValidationError) as caught:
        _feed(**changes)
    assert told in str(caught.value)


def test_bronze_may_have_an_age_and_the_feed_a_schedule():
    feed = _feed(bronze={"retention": "90d"}, run="0 * * * *", trigger="5s", reset="allowed")
    assert feed.lets_rows_go
