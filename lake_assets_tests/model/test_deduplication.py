from datetime import timedelta

import pytest
from pydantic import ValidationError

from lake_assets.model.deduplication import Deduplicate
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import duplicates_of

FEED = {
    "feed": "plays",
    "source": {"kafka": {"topic": "plays"}},
    "payload": {"json": {"schema": "event_id string"}},
}


def test_a_feed_says_by_which_columns_and_within_which_time():
    feed = Feed.model_validate({**FEED, "deduplicate": {"key": ["event_id"], "within": "1h"}})
    assert feed.deduplicate == Deduplicate(key=("event_id",), within=timedelta(hours=1))
    assert str(feed.deduplicate) == "once per event_id within 1 hour"
    assert Feed.model_validate(FEED).deduplicate is None


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"within": "1h"}, "key\n.*required"),
        ({"key": [], "within": "1h"}, "at least 1 item"),
        ({"key": "event_id", "within": "1h"}, "valid tuple"),
        ({"key": [""], "within": "1h"}, "at least 1 character"),
        ({"key": ["a", "b", "a"], "within": "1h"}, "two deduplicate.key are called a"),
        ({"key": ["a"]}, "within\n.*required"),
        ({"key": ["a"], "within": "500ms"}, "greater than or equal to"),
        ({"key": ["a"], "within": "0s"}, "is no duration"),
        ({"key": ["a"], "within": "-1h"}, "within"),
        ({"key": ["a"], "within": "forever"}, "within"),
        ({"key": ["a"], "within": "367d"}, "less than or equal to"),
        ({"key": ["a"], "within": "1h", "for": "all"}, "Extra inputs"),
    ],
)
def test_what_tells_no_duplicates_is_refused(rule, words):
    with pytest.raises(ValidationError, match=words):
        Feed.model_validate({**FEED, "deduplicate": rule})


def test_the_duplicates_of_a_feed_stay_as_long_as_its_quarantine():
    feed = Feed.model_validate({**FEED, "quarantine": {"retention": "30d"}})
    age = feed.age_of(duplicates_of("plays"))
    assert (age.keep, age.columns) == (timedelta(days=30), ("kafka_timestamp", "dropped_at"))
    assert Feed.model_validate(FEED).age_of(duplicates_of("plays")) is None
