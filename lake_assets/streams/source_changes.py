"""Whether a source changed under its stream: rows gone, another of its name, or a new one.

Asked when ingest's query has failed: Spark tells such things as text. What follows from them is
found out by the next start (`bronze.ingest`), which refuses, records a gap, or goes on.
"""

from collections.abc import Collection

from lake_assets.bronze.offsets import gaps_in, is_another
from lake_assets.delta.log_history import open_table
from lake_assets.delta.source_offsets import identity_app
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import bronze_of
from lake_assets.sources.base import Source
from lake_assets.storage.store import Store
from lake_assets.streams.progress import ingested_offsets


def has_changed(source: Source, lake: Store, feed: Feed, there: Collection[str]) -> bool:
    """Whether a source is another one, gone or new, or has not all that comes after bronze's rows.

    Args:
        source: as its feed declares it.
        lake: where bronze is.
        feed: whose source.
        there: names of those that were there when the query was started: others may be gone since
            long, and the feed goes on without them.

    Raises:
        SourceError: it cannot be asked.
    """
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return False
    extent, have = source.extent(), ingested_offsets(lake, feed)
    identities = source.generation(extent.names).identities
    recorded = {
        name: bronze.transaction_version(identity_app(feed.source.kind, name))
        for name in extent.names
    }
    return (
        not {*there} <= {*extent.names}
        or any(is_another(recorded[name], identities.get(name)) for name in extent.names)
        or bool(gaps_in(extent, have))
        or any(
            offset > extent.ends.get(place, -1)
            for place, offset in have.items()
            if place[0] in extent.names
        )
        # A query that begins while a partition or a topic comes fails, since nobody told it where
        # to begin there.
        or not extent.begins.keys() <= have.keys()
    )
