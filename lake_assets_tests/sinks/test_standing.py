import os
import time

import pytest
from deltalake import DeltaTable

from lake_assets.sinks.standing import standing_of, unread_since
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.sample import silver_of
from lake_assets_tests.sinks.lakes import add_silver, delivered, feed_with_sink, redelivered

pytestmark = pytest.mark.spark


@pytest.fixture
def feed(api):
    return feed_with_sink(f"{api.url}/sessions", rows_per_call=10)


def _standing(settings, feed, since=0.0):
    return standing_of(lake_of(settings), feed, feed.sinks[0], since)


def test_a_sink_that_never_began_stands_nowhere(settings, feed):
    assert _standing(settings, feed) is None
    assert unread_since(lake_of(settings), feed, feed.sinks[0]) == {}


def test_rows_wait_for_a_sink_that_never_began(settings, feed):
    began = time.time()
    add_silver(settings.lake_dir, "uno", "ann")
    found = _standing(settings, feed)
    assert found.behind_since == pytest.approx(began, abs=60)
    assert (found.recorded_at, found.new_letters) == (0.0, 0)


def test_what_waits_for_a_sink_and_what_it_gave_up_is_told(spark, settings, api, feed):
    began = time.time()
    add_silver(settings.lake_dir, "uno", "ann", "bob")
    api.script({"status": 400})
    delivered(spark, settings, feed)
    found = _standing(settings, feed)
    assert (found.behind_since, found.new_letters) == (None, 2)
    assert began - 1 <= found.letters_since <= found.recorded_at + 1
    assert _standing(settings, feed, since=time.time() + 60).new_letters == 0

    add_silver(settings.lake_dir, "uno", "cid", start=5)
    behind = _standing(settings, feed).behind_since
    assert behind >= found.recorded_at - 1
    assert unread_since(lake_of(settings), feed, feed.sinks[0]) == {silver_of("uno"): behind}

    redelivered(spark, settings, feed)
    delivered(spark, settings, feed)
    found = _standing(settings, feed)
    assert (found.behind_since, found.new_letters, found.letters_since) == (None, 0, None)


def test_files_that_were_joined_keep_no_sink_back(spark, settings, feed):
    add_silver(settings.lake_dir, "uno", "ann")
    add_silver(settings.lake_dir, "uno", "bob", start=1)
    delivered(spark, settings, feed)
    DeltaTable(settings.lake_dir / silver_of("uno").relative).optimize.compact()
    assert _standing(settings, feed).behind_since is None
    # Its log is not shortened before the sink has looked at it, all the same.
    assert list(unread_since(lake_of(settings), feed, feed.sinks[0])) == [silver_of("uno")]


def test_rows_that_wait_for_long_wait_as_long_once_the_log_is_shortened(spark, settings, feed):
    add_silver(settings.lake_dir, "uno", "ann")
    delivered(spark, settings, feed)
    for start in range(1, 4):
        add_silver(settings.lake_dir, "uno", "bob", start=start)
    folder = settings.lake_dir / silver_of("uno").relative
    DeltaTable(folder).create_checkpoint()
    swept, *left = sorted((folder / "_delta_log").glob("*.json"))
    for commit in (swept, left.pop(0)):
        commit.unlink()
    yesterday = time.time() - 86_400
    os.utime(left[0], (yesterday, yesterday))
    assert _standing(settings, feed).behind_since == pytest.approx(yesterday, abs=1)
