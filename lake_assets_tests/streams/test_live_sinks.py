"""Sinks of one feed, for which a run waits; a sink's thread alone, others test."""

import json
import threading

import pytest

from lake_assets.errors import StreamError
from lake_assets.gold.run import Warm
from lake_assets.model.endpoints import Endpoints
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.live_sinks import LiveSinks
from lake_assets_tests.sinks.bronze import add_bronze, bronze_feed
from lake_assets_tests.sinks.rest.api import running_api

pytestmark = pytest.mark.spark


def test_a_run_waits_for_all_that_is_there_and_tells_which_sink_cannot_have_it(
    spark, settings, tmp_path
):
    with running_api(tmp_path) as api, open_lake(settings, spark) as context:
        secret = {"bearer": {"env": "NO_SUCH_SECRET_OF_A_SINK"}}
        (well,) = bronze_feed(api.url).sinks
        (dead,) = bronze_feed(api.url, auth=secret).sinks
        sinks_of_feed = (well, dead.model_copy(update={"name": "dead"}))
        changes = {"run": "manual", "sinks": sinks_of_feed}
        feed = bronze_feed(api.url).model_copy(update=changes)
        warm = Warm(session=spark, context=context)
        places = (settings, [feed], Endpoints(kafka="", registry=""))
        sinks = LiveSinks(*places, warm, lambda _: None, frozenset())
        sinks.start()
        try:
            for start in (0, 5):
                row = b'{"player": "ann", "coins": 1}'
                add_bronze(settings, feed, *[row] * 5, start=start)
                with pytest.raises(StreamError, match="dead stands still") as told:
                    sinks.deliver("plays", threading.Event())
                assert "plays.api" not in str(told.value)
                assert sum(len(json.loads(call["body"])) for call in api.calls()) == start + 5
        finally:
            sinks.stop()
            sinks.wait()
