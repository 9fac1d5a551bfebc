"""What a feed's first run leaves of a source that has no row: where it is begun."""

from lake_assets.bronze.ingest import Ingest
from lake_assets.model.endpoints import Endpoints
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import Place
from lake_assets.settings.schema import Settings
from lake_assets.sources.catalog import source_of
from lake_assets.spark.lake_context import open_lake


def begin(settings: Settings, feed: Feed, endpoints: Endpoints) -> dict[Place, int]:
    """Record it; by name and partition, the offset to read next."""
    with open_lake(settings) as context:
        source = source_of(feed, endpoints, context.lake)
        return Ingest(feed=feed, source=source, context=context, report=lambda _: None).prepare()
