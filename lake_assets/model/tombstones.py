"""Tombstones of a compacted topic: rows without a value, whose key says what they delete. Pure.

What silver calls the column that marks one, and which keyed tables take them.
"""

from collections.abc import Iterable

from lake_assets.model.gold_views import GoldView
from lake_assets.model.origins import OriginColumns

TOMBSTONE = "_tombstone"
"""Column of silver, of feeds that take them: true of a tombstone, else null."""

ROW_KEY = "key"
"""Column of bronze: the row's own key at its source, bytes."""


def tombstone_columns(views: Iterable[GoldView]) -> tuple[str, ...]:
    """The columns of silver that a tombstone's key names; none if the feed takes no tombstones."""
    for view in views:
        if view.keyed is not None and view.keyed.tombstones:
            return view.keyed.by
    return ()


def refuse_untold_tombstones(
    views: Iterable[GoldView], origin: OriginColumns, route: str | None
) -> None:
    """Refuse tombstones that would not say which row they delete, or when.

    Raises:
        ValueError: there are such.
    """
    taking = [view for view in views if view.keyed is not None and view.keyed.tombstones]
    for view in taking:
        keyed, offset = view.keyed, origin.in_silver.offset
        if keyed is None:
            raise ValueError(view.name)
        if keyed.order != (offset,):
            message = f"tombstones: they have no value to read `order` from, so order by {offset}"
            raise ValueError(message)
        if route is not None and route not in keyed.by:
            message = f"tombstones: their key must say where they go, so {route} belongs to `by`"
            raise ValueError(message)
        if keyed.by != tombstone_columns(taking):
            message = f"tombstones: {taking[0].name} and {view.name} read other columns from a key"
            raise ValueError(message)
