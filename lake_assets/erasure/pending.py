"""Raw rows that silver has not taken yet: nobody has looked whose they are."""

import time
from collections.abc import Mapping, Sequence

from lake_assets.delta.log_history import open_table
from lake_assets.delta.restores import held_offsets
from lake_assets.delta.source_offsets import furthest
from lake_assets.delta.table_log import log_of
from lake_assets.model.feeds import Feed
from lake_assets.model.origins import ByPlace
from lake_assets.model.tables import bronze_of, quarantine_of
from lake_assets.settings.schema import Settings
from lake_assets.silver.demux_position import read_position
from lake_assets.state.files import is_locked
from lake_assets.storage.store import Store

_LOOK_EVERY_S = 0.5


def await_demux(
    settings: Settings,
    lake: Store,
    feeds: Sequence[Feed],
    cuts: Mapping[str, ByPlace],
    *,
    within_s: float,
) -> list[str]:
    """Wait until silver has taken what bronze has, and what it is to get below some cuts.

    Only as long as streams run that may do it.

    Args:
        settings: where the state is.
        lake: where the tables are.
        feeds: whose rows.
        cuts: by feed and place, the offset that silver is to reach at least.
        within_s: seconds after which it is given up.

    Returns:
        In words, of which feeds it has not.

    Raises:
        LakeError: a table cannot be read.
    """
    wanted = {
        feed.feed: furthest([_bronze_ends(lake, feed), cuts.get(feed.feed, {})])
        for feed in feeds
        if feed.has_silver
    }
    until = time.monotonic() + within_s
    while True:
        lacking = {f.feed: _lacking(lake, f, wanted[f.feed]) for f in feeds if f.has_silver}
        behind = {name: count for name, count in lacking.items() if count}
        if not behind or time.monotonic() > until or not is_locked(settings.state_dir):
            return [_told(name, count) for name, count in behind.items()]
        time.sleep(_LOOK_EVERY_S)


def untaken(lake: Store, feed: Feed) -> int:
    """How many rows of bronze silver has not taken yet, at most.

    Raises:
        LakeError: a table cannot be read.
    """
    return _lacking(lake, feed, _bronze_ends(lake, feed))


def _told(feed: str, count: int) -> str:
    return (
        f"feed {feed!r}: up to {count:,} rows of its source are not in silver yet, and nobody has "
        "looked whose they are: let `lake-assets stream` take them, then ask for the "
        "same erasure again"
    )


def _bronze_ends(lake: Store, feed: Feed) -> ByPlace:
    handle = open_table(lake, bronze_of(feed.feed))
    if handle is None:
        return {}
    log = log_of(lake, bronze_of(feed.feed))
    names = {name for name, _ in _taken(lake, feed)} or {*feed.source.declared.names}
    return dict(held_offsets(log, handle, [feed.source.named(name) for name in sorted(names)]))


def _taken(lake: Store, feed: Feed) -> ByPlace:
    quarantine = open_table(lake, quarantine_of(feed.feed))
    position = read_position(quarantine, feed.feed) if quarantine is not None else None
    return {} if position is None else position.offsets


def _lacking(lake: Store, feed: Feed, wanted: ByPlace) -> int:
    taken = _taken(lake, feed)
    return sum(max(0, offset - taken.get(place, 0)) for place, offset in wanted.items())
