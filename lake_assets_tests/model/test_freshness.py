from datetime import timedelta

import pytest
from pydantic import ValidationError

from lake_assets.model.feeds import Feed
from lake_assets_tests.sample import GAMES

HOUR = timedelta(hours=1)


def fresh(value=None, *, default_s=3600.0, is_streamed=True):
    declared = {**GAMES.model_dump(mode="json"), "freshness": value}
    feed = Feed.model_validate(declared)
    assert Feed.model_validate_json(feed.model_dump_json()) == feed
    return feed.fresh_within(default_s, is_streamed=is_streamed)


def test_unset_it_is_the_settings_and_never_of_a_feed_with_runs():
    assert fresh() == HOUR
    assert fresh(default_s=0.0) is None
    assert fresh(default_s=1.0) == timedelta(minutes=5)
    assert fresh(is_streamed=False) is None


@pytest.mark.parametrize("off", ["off", False])
def test_off_is_never_also_as_yaml_reads_it(off):
    assert fresh(off) is None


def test_a_feeds_own_counts_before_the_settings():
    assert fresh("2h") == 2 * HOUR
    assert fresh("26h", is_streamed=False) == 26 * HOUR
    assert fresh("2h", default_s=0.0) == 2 * HOUR


@pytest.mark.parametrize("wrong", ["1m", "soon", 12, True, ""])
def test_what_is_no_time_or_too_short_is_refused_in_plain_words(wrong):
    with pytest.raises(ValidationError, match="at least five minutes\nwrite 15m, 1h, 2d, or off"):
        fresh(wrong)
