"""Rows of silver that stay whatever their age, since a window that they are in is not closed yet.

A view of windows takes a window's rows from silver when it closes, once and for all: a game that is
quiet closes its last one with the next row that comes. Reads logs only.
"""

from collections.abc import Mapping

from lake_assets.delta.catalog import keys_of
from lake_assets.delta.event_times import RowsFrom
from lake_assets.delta.log_history import newest_info
from lake_assets.delta.window_position import WindowPosition
from lake_assets.gold.status import behind_since
from lake_assets.maintenance.policy import MOST_HELD_S
from lake_assets.model.feeds import Feed
from lake_assets.model.tables import TableRef
from lake_assets.settings.schema import Settings
from lake_assets.storage.open_store import lake_of


def rows_in_open_windows(
    settings: Settings, feed: Feed, now: float
) -> Mapping[TableRef, tuple[RowsFrom, ...]]:
    """By silver table, the rows that a view has not taken yet; for a week after silver went on.

    Args:
        settings: where the lake is.
        feed: whose views.
        now: seconds since 1970.

    Raises:
        LakeError: a table's log cannot be read.
    """
    windowed = [(view, view.windows) for view in feed.gold if view.windows is not None]
    found: dict[TableRef, tuple[RowsFrom, ...]] = {}
    if not windowed:
        return found
    lake, behind = lake_of(settings), behind_since(settings, feed)
    for key in keys_of(lake, feed):
        for view, windows in windowed:
            if now - behind[view.name].get(key, now) > MOST_HELD_S:
                continue  # nobody refreshes it
            position = WindowPosition.of(newest_info(lake, feed.gold_table(view, key)))
            rows = RowsFrom(windows.time, None if position is None else position.until)
            found[feed.silver_table(key)] = (*found.get(feed.silver_table(key), ()), rows)
    return found
