"""A feed with a sink, and runs of it, for tests of any sink."""

import threading

import pyarrow as pa

from lake_assets.delta.table_log import log_of
from lake_assets.model.sinks import Sink
from lake_assets.model.tables import deliveries_of
from lake_assets.sinks.base import IDENTITY, Call, Outcome
from lake_assets.sinks.run import SinkRun
from lake_assets.spark.lake_context import open_lake
from lake_assets.storage.open_store import lake_of
from lake_assets_tests.gold.silver import SCHEMA, append_silver
from lake_assets_tests.sample import GAMES, silver_of

SHAPE = {"player": "gamer_id", "game": "game_name", "at": "event_timestamp"}


def add_silver(lake, key, *gamers, start=0, later_s=0):
    """One commit with one row a gamer, a second and an offset apart."""
    rows = [
        {
            "game_name": key,
            "gamer_id": gamer,
            "event_timestamp": offset * 1_000_000,
            "_topic": "game-stream",
            "_partition": 0,
            "_offset": offset,
            "_kafka_timestamp": (1_000 + offset + later_s) * 1_000_000,
        }
        for offset, gamer in enumerate(gamers, start)
    ]
    append_silver(lake, key, pa.Table.from_pylist(rows, schema=SCHEMA))


def feed_with_sink(
    url, *, feed=GAMES, select=SHAPE, where="gamer_id <> ''", retention=None, **rest
):
    common = {"url": url, "allow_private": True, "timeout": "2s"}
    declared = {"name": "api", "from": "silver", "rest": {**common, **rest}}
    declared |= {"retention": retention} if retention else {}
    shape = {"select": select} if select else {}
    condition = {"where": where} if where else {}
    sink = Sink.model_validate({**declared, **shape, **condition})
    return feed.model_copy(update={"sinks": (sink,)})


def delivered(spark, settings, feed, stop=None):
    """One run of the feed's sink, until nothing is new."""
    with (
        open_lake(settings, spark) as context,
        SinkRun(spark.newSession(), context, feed, feed.sinks[0], settings) as run,
    ):
        return run.deliver(stop or threading.Event())


def redelivered(spark, settings, feed, stop=None):
    """One run that sends the dead letters of the feed's sink again."""
    with (
        open_lake(settings, spark) as context,
        SinkRun(spark.newSession(), context, feed, feed.sinks[0], settings) as run,
    ):
        return run.redeliver(stop or threading.Event())


def recorded(settings, feed):
    """The rows of the table of deliveries."""
    table = deliveries_of(feed.feed, feed.sinks[0].name)
    return pa.table(log_of(lake_of(settings), table).open().to_pyarrow_table()).to_pylist()


def outcome(offset, *, is_delivered=True, table=None):
    """Of a call that has one row, of a table of silver unless another one is named."""
    name = (table or silver_of("uno")).relative
    place = {"table": name, "feed": "games", "source": "t", "partition": 0}
    row = {**place, "offset": offset, "source_time": 0, "ordinal": 0}
    rows = pa.Table.from_pylist([row], schema=IDENTITY)
    call = Call(number=1, key=f"t/0/{offset}/0+1-ab", rows=rows, body=b"")
    return Outcome(call=call, is_delivered=is_delivered, tries=1, seconds=0.1)
