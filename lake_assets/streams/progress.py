"""How far a feed's streams have come, by the commits of its tables. Starts and changes nothing."""

from lake_assets.delta.log_history import open_table
from lake_assets.delta.recorded_sources import sources_read
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import NamedSource, Place
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.silver.demux_position import Position, read_position
from lake_assets.storage.store import Store


def ingested_offsets(lake: Store, feed: Feed) -> dict[Place, int]:
    """By name and partition of what the feed reads, the offset after the last row in bronze.

    Of what it read before and reads no more nothing.
    """
    bronze = open_table(lake, bronze_of(feed.feed))
    if bronze is None:
        return {}
    log = log_of(lake, bronze_of(feed.feed))
    return dict(held_offsets(log, bronze, sources_read(log, bronze, feed.source)))


def sources_in(feed: Feed, position: Position) -> list[NamedSource]:
    """Sources that bronze may have rows of, one at least: those that are named, and those known.

    Bronze may have rows of what the feed read before, under another name.
    """
    named = feed.source.declared.names
    names = dict.fromkeys([*named, *sorted(name for name, _ in position.offsets)])
    return [feed.source.named(name) for name in names] or [feed.source.named("")]


def demux_position(lake: Store, feed: Feed) -> Position:
    """How far demux is in bronze."""
    quarantine = open_table(lake, quarantine_of(feed.feed))
    position = read_position(quarantine, feed.feed) if quarantine is not None else None
    return position or Position()
