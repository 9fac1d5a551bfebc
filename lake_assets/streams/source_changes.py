"""Whether a source changed under the stream that reads it: rows gone, or another of its name.

Asked when ingest's query has failed: Spark tells such things as text. What follows from them is
found out by the next start (`bronze.ingest`), which refuses, records a gap, or goes on.
"""

from lake_assets.bronze.offsets import gaps_in, is_another
from lake_assets.delta.log_history import open_table
from lake_assets.delta.source_offsets import identity_app
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import bronze_of
from lake_assets.sources.base import Source
from lake_assets.storage.store import Store
from lake_assets.streams.progress import ingested_offsets


def has_changed(source: Source, lake: Store, feed: Feed) -> bool:
    """Whether a source is another one, or has not all that comes after bronze's rows.

    Raises:
        SourceError: it cannot be asked.
    """
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return False
    declared = feed.source.declared
    recorded = bronze.transaction_version(identity_app(declared.kind, declared.name))
    extent, have = source.extent(), ingested_offsets(lake, feed)
    return (
        is_another(recorded, source.generation().identity)
        or bool(gaps_in(declared.name, extent, have))
        or any(offset > extent.ends.get(partition, -1) for partition, offset in have.items())
    )
