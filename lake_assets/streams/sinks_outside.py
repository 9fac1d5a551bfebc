"""What a sink uses that is not in the lake: brokers, and what decodes rows on their way to it."""

from pyspark.sql import SparkSession

from lake_assets.errors import StreamError
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.sinks import Sink
from lake_assets.settings.schema import Settings
from lake_assets.sinks.following import Outside
from lake_assets.streams.schemas import format_with


def outside_of(
    settings: Settings, endpoints: Endpoints | None, feed: Feed, sink: Sink, session: SparkSession
) -> Outside:
    """What one of a feed's sinks uses, with a session of the sink's own.

    Raises:
        StreamError: it needs a registry, and the lake's services do not run.
    """
    if not sink.is_of_bronze:
        return Outside(endpoints=endpoints)
    known = endpoints or Endpoints(kafka="", registry="")
    if endpoints is None and feed.payload.needs_registry:
        fact = "needs the schema registry, and the lake's services do not run"
        step = "Start them, `lake-assets services up`, or name your registry in the settings"
        raise StreamError(f"sink {sink.name!r} of feed {feed.feed!r}", fact, step)
    return Outside(endpoints=endpoints, format=format_with(settings, known, feed, session))
