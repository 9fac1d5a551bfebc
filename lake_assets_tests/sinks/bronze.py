"""A feed without silver tables, rows of its bronze, and runs of its sink."""

import threading

import pyarrow as pa
from deltalake import write_deltalake

from lake_assets.bronze.rows import schema
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import bronze_of
from lake_assets.sinks.run import SinkRun
from lake_assets.sources.catalog import kind_of
from lake_assets.spark.lake_context import open_lake
from lake_assets.streams.sinks_outside import outside_of

SHAPE = {"who": "player", "points": "coins * 10", "place": "_offset"}


def bronze_feed(url, *, payload="player string, coins int", **rest):
    json = {"schema": payload, "on_mismatch": "quarantine"}
    common = {"url": f"{url}/sessions", "allow_private": True, "timeout": "2s", "rows_per_call": 2}
    sink = {"name": "api", "from": "bronze", "where": "player <> ''", "select": SHAPE}
    return Feed.model_validate(
        {
            "feed": "plays",
            "silver": "none",
            "source": {"kafka": {"topic": "plays"}},
            "payload": {"json": json},
            "sinks": [{**sink, "rest": {**common, **rest}}],
        }
    )


def add_bronze(settings, feed, *values, start=0):
    """One commit with a row a value, an offset apart."""
    origin, columns = feed.source.origin, schema(kind_of(feed).columns)
    rows = [
        {
            origin.name: "plays",
            origin.partition: 0,
            origin.offset: offset,
            origin.time: (1_000 + offset) * 1_000_000,
            "value": value,
            "ingested_at": 0,
            "ingested_date": 0,
        }
        for offset, value in enumerate(values, start)
    ]
    made = pa.Table.from_pylist([{n: r.get(n) for n in columns.names} for r in rows], columns)
    write_deltalake(settings.lake_dir / bronze_of(feed.feed).relative, made, mode="append")


def run_of(spark, settings, feed, act, stop=None):
    """What one run of the feed's sink does."""
    session = spark.newSession()
    (sink,) = feed.sinks
    outside = outside_of(settings, Endpoints(kafka="", registry=""), feed, sink, session)
    with (
        open_lake(settings, spark) as context,
        SinkRun(session, context, feed, sink, settings, outside) as run,
    ):
        return getattr(run, act)(stop or threading.Event())
