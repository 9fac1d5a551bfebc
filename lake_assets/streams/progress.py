"""How far a feed's streams have come, by the commits of its tables. Starts and changes nothing."""

from lake_assets.delta.log_history import open_table
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.silver.demux_position import Position, read_position
from lake_assets.storage.store import Store


def ingested_offsets(lake: Store, feed: Feed) -> dict[int, int]:
    """By partition of the feed's source, the offset after the last row that is in bronze."""
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return {}
    offsets = held_offsets(log_of(lake, bronze_of(feed.feed)), bronze, feed.source.named())
    return {partition: offset for (_, partition), offset in offsets.items()}


def demux_position(lake: Store, feed: Feed) -> Position:
    """How far demux is in bronze."""
    quarantine = open_table(lake, quarantine_of(feed.feed))
    position = read_position(quarantine, feed.feed) if quarantine is not None else None
    return position or Position()
