import json
import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from lake_assets import feeds as shipped
from lake_assets.feeds.json_schema import feed_schema
from lake_assets.model.feeds import Feed

ROOT = Path(__file__).parents[2]

SCHEMA = feed_schema()


def feeds_in(path):
    """The feeds that a page shows whole."""
    for text in re.findall(
        r"^```yaml[^\n]*\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE
    ):
        try:
            found = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if isinstance(found, dict) and {"feed", "source"} <= {*found}:
            yield found


PAGES = [(path.name, feed) for path in (ROOT / "docs").rglob("*.md") for feed in feeds_in(path)] + [
    (path.name, yaml.safe_load(path.read_text()))
    for path in Path(shipped.__file__).parent.glob("*.yaml")
]

FEED = {
    "feed": "f",
    "source": {"kafka": {"topic": "t"}},
    "payload": {"json": {"schema": "a int, at timestamp"}},
}


def wrong(feed):
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(feed)]


def test_it_is_a_schema():
    Draft202012Validator.check_schema(SCHEMA)


def test_all_shipped_feeds_and_those_of_the_docs_are_right_by_it():
    assert len(PAGES) > 30
    assert [(name, feed["feed"], wrong(feed)) for name, feed in PAGES if wrong(feed)] == []


@pytest.mark.parametrize(
    "more",
    [
        {"gold": [{"name": "v", "keys": ["a"], "measures": {"n": "count(*)"}}]},
        {"gold": [{"name": "v", "keys": {"b": "a + 1"}, "measures": {"n": "count(*)"}}]},
        {"gold": [{"name": "v", "sql": "select a from silver", "refresh": "live"}]},
        {"keyed": {"by": "a", "order": "at"}},
        {"keyed": {"by": ["a"], "order": ["at", "a"]}},
        {"retention": "90d"},
        {"retention": {"keep": "90d", "column": "at"}},
        {"partition_by": "a"},
        {"partition_by": ["date(at)"]},
        {"partition_by": {"day": "date(at)"}},
        {"trigger": "500ms"},
        {"checks": [{"name": "c", "unique": ["a"], "games": ["f"]}]},
    ],
)
def test_each_shape_that_a_feed_may_have_is_right_by_it(more):
    Feed.model_validate(FEED | more)
    assert wrong(FEED | more) == []


@pytest.mark.parametrize(
    "more",
    [
        {"feeds": "x"},
        {"feed": "Not A Name"},
        {"feed": 7},
        {"payload": {"jsn": {}}},
        {"source": {"kafka": {"topic": "t", "topik": "t"}}},
        {"mask": {"a": "hide"}},
        {"gold": {"name": "v"}},
        {"gold": [{"keys": ["a"]}]},
        {"trigger": 5},
        {"trigger": "often"},
        {"retention": {"column": "at"}},
        {"expectations": [{"name": "e", "sql": "a > 1", "action": "dorp"}]},
        {"keyed": {"by": "a", "order": "at", "history": 3}},
    ],
)
def test_what_is_wrong_is_wrong_by_it(more):
    with pytest.raises(ValidationError):
        Feed.model_validate(FEED | more)
    assert wrong(FEED | more)


def test_each_field_says_what_it_means_and_nothing_is_only_pythons():
    for name, field in SCHEMA["properties"].items():
        assert field.get("description"), name
    text = json.dumps(SCHEMA)
    for word in ('"title": "Feed"', "timedelta", '"format": "duration"', "lake_assets."):
        assert word not in text
    assert SCHEMA["additionalProperties"] is False
    assert SCHEMA["$defs"]["Sink"]["properties"]["from"]["description"].startswith("`silver`")
