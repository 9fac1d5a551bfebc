"""What decodes rows on their way to a sink; whoever delivers makes one a sink."""

from typing import Any

from pyspark.sql import SparkSession

from lake_assets.errors import StreamError
from lake_assets.formats.base import PayloadFormat
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.sinks import Sink
from lake_assets.settings.schema import Settings
from lake_assets.streams.schemas import format_with


def payload_for(
    settings: Settings, endpoints: Endpoints | None, feed: Feed, sink: Sink, session: SparkSession
) -> PayloadFormat[Any] | None:
    """The format of a feed's values, if the sink gets them from bronze.

    Raises:
        StreamError: it needs a registry, and the lake's services do not run.
    """
    if not sink.is_of_bronze:
        return None
    if endpoints is None:
        if feed.payload.needs_registry:
            fact = "needs the schema registry, and the lake's services do not run"
            step = "Start them, `lake-assets services up`, or name your registry in the settings"
            raise StreamError(f"sink {sink.name!r} of feed {feed.feed!r}", fact, step)
        endpoints = Endpoints(kafka="", registry="")
    return format_with(settings, endpoints, feed, session)
