"""The jobs `stop_stream` and `start_stream`: a feed's stream stops deliberately, and starts again.

What a stop is, and who obeys it, is `streams.stop_request`'s.
"""

import time
from collections.abc import Iterator, Sequence

import dagster as dg
from pydantic import Field

from lake_assets.defs.keys import bronze_key, named, silver_key
from lake_assets.defs.lake_scope import lake_tags
from lake_assets.defs.processes import note_process
from lake_assets.model.feeds import Feed
from lake_assets.settings.schema import Settings
from lake_assets.state.lake_id import lake_id
from lake_assets.state.stream_stops import StreamStop
from lake_assets.streams.stop_request import (
    await_stopped,
    feeds_meant,
    start_streams,
    stop_streams,
)

STOP, START = "stop_stream", "start_stream"

_WHOSE = "Name of the feed; blank: all feeds that the streams run."


class StopConfig(dg.Config):
    """The form of the launchpad to stop."""

    feed: str = Field(default="", description=_WHOSE)
    reason: str = Field(default="", description="Why, for whoever sees that the stream is stopped.")


class StartConfig(dg.Config):
    """The form of the launchpad to start."""

    feed: str = Field(default="", description=_WHOSE)


Events = Iterator[dg.AssetObservation]


def build(settings: Settings, feeds: Sequence[Feed]) -> dg.Definitions:
    """Both jobs."""
    return dg.Definitions(jobs=[stop_job(settings, feeds), start_job(settings, feeds)])


def stop_job(settings: Settings, feeds: Sequence[Feed]) -> dg.JobDefinition:
    """The job that stops."""
    lake = lake_id(settings)

    @dg.op(
        name=named(settings, "stop"),
        out={},
        description="Has the stream stop after the batch in hand, and waits for that.",
    )
    def stop(context: dg.OpExecutionContext, config: StopConfig) -> Events:
        note_process(context.instance, context.run.run_id, lake)
        meant = feeds_meant(feeds, config.feed)
        by = f"run {context.run.run_id[:8]} of {STOP}"
        stops = stop_streams(settings, meant, by=by, reason=config.reason)
        since = time.monotonic()
        for feed in meant:
            ended = await_stopped(settings, feed.feed, since=since)
            context.log.info("%s: stopped %s: %s", feed.feed, stops[feed.feed], ended)
            yield from _observed(settings, feed, stopped_metadata(stops[feed.feed]))

    return _job(
        settings,
        STOP,
        stop,
        "Stops a feed's stream after the batch in hand, until `start_stream` starts it. The "
        "stop outlives restarts of everything; the supervisor leaves it alone, and "
        "`lake-assets stream` does, too. Other feeds, refreshes of gold and feeds with a "
        "schedule go on. What its source gets meanwhile waits there: for as long as it keeps "
        "it.",
    )


def start_job(settings: Settings, feeds: Sequence[Feed]) -> dg.JobDefinition:
    """The job that starts."""
    lake = lake_id(settings)

    @dg.op(
        name=named(settings, "start"),
        out={},
        description="Lets the stream go on where it stopped.",
    )
    def start(context: dg.OpExecutionContext, config: StartConfig) -> Events:
        note_process(context.instance, context.run.run_id, lake)
        meant = feeds_meant(feeds, config.feed)
        stops = start_streams(settings, meant)
        for feed in meant:
            if feed.feed not in stops:
                context.log.info("%s: nobody has stopped it", feed.feed)
                continue
            context.log.info("%s: started; it was stopped %s", feed.feed, stops[feed.feed])
            yield from _observed(settings, feed, {"stream": dg.MetadataValue.text("started again")})

    return _job(
        settings,
        START,
        start,
        "Starts a feed's stream again that `stop_stream` has stopped: it goes on where it was, "
        "within a second if other feeds are streamed; else the supervisor starts the streams.",
    )


def _job(settings: Settings, name: str, op: dg.OpDefinition, description: str) -> dg.JobDefinition:
    """A job of one op that works on the lake."""
    return dg.GraphDefinition(
        name=named(settings, name), description=description, node_defs=[op]
    ).to_job(
        tags={"dagster/max_runtime": "3600", **lake_tags(lake_id(settings))},
        executor_def=dg.in_process_executor,
    )


def stopped_metadata(stop: StreamStop) -> dict[str, dg.MetadataValue]:
    """What an asset shows of a deliberate stop."""
    found: dict[str, dg.MetadataValue] = {"stream": dg.MetadataValue.text("stopped deliberately")}
    found["stopped_by"] = dg.MetadataValue.text(stop.by or "somebody")
    if stop.at is not None:
        found["stopped_at"] = dg.MetadataValue.timestamp(stop.at)
    if stop.reason:
        found["reason"] = dg.MetadataValue.text(stop.reason)
    return found


def _observed(settings: Settings, feed: Feed, metadata: dict[str, dg.MetadataValue]) -> Events:
    yield dg.AssetObservation(bronze_key(settings, feed), metadata=metadata)
    if feed.has_silver:
        yield dg.AssetObservation(silver_key(settings, feed), metadata=metadata)
