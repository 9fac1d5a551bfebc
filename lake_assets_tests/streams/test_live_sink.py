"""A live sink of a view, and who sends its dead letters again meanwhile."""

import pytest

from lake_assets.gold.run import Warm
from lake_assets.sinks.run import redelivery_turn, sink_turn
from lake_assets.spark.lake_context import open_lake
from lake_assets.state.files import turn_if_free
from lake_assets.streams.live_sink import LiveSink
from lake_assets_tests.e2e.dev import wait_for
from lake_assets_tests.sinks.rest.api import running_api
from lake_assets_tests.sinks.views import refresh, sent, to_api

pytestmark = pytest.mark.spark


def test_a_sink_of_a_view_gives_its_turn_to_who_sends_dead_letters(spark, settings, tmp_path):
    with running_api(tmp_path) as api, open_lake(settings, spark) as context:
        feed = to_api(api.url)
        (sink,) = feed.sinks
        refresh(settings, {"ann": 1})
        warm = Warm(session=spark, context=context)
        live = LiveSink(settings, feed, sink, None, warm, lambda _: None)
        live.start()
        try:
            wait_for(lambda: len(sent(api)) == 1, "the first row", within_s=120)
            with turn_if_free(settings.state_dir, redelivery_turn(feed, sink), within_s=10) as ours:
                assert ours
                turn = sink_turn(feed, sink)
                with turn_if_free(settings.state_dir, turn, within_s=60) as is_free:
                    assert is_free
            refresh(settings, {"ann": 2})
            live.nudge()
            wait_for(lambda: len(sent(api)) == 2, "the change", within_s=120)
        finally:
            live.stop()
            wait_for(lambda: not live.is_alive(), "its end", within_s=120)


def test_the_last_rows_are_delivered_though_somebody_waits_for_the_turn(spark, settings, tmp_path):
    with running_api(tmp_path) as api, open_lake(settings, spark) as context:
        feed = to_api(api.url)
        (sink,) = feed.sinks
        refresh(settings, {"ann": 1})
        warm = Warm(session=spark, context=context)
        live = LiveSink(settings, feed, sink, None, warm, lambda _: None)
        with turn_if_free(settings.state_dir, redelivery_turn(feed, sink)) as ours:
            assert ours
            live.start()
            wait_for(lambda: live.trouble, "the wait for its turn", within_s=120)
            assert sent(api) == []
            live.finish()
            wait_for(lambda: not live.is_alive(), "its end", within_s=120)
        assert (live.trouble, len(sent(api))) == ("", 1)
