"""Tombstones of a compacted topic: rows without a value, whose key says what they delete. Pure.

What silver calls the column that marks one, which keyed tables take them, and what cannot be
beside them.
"""

import re
from collections.abc import Iterable, Sequence

from lake_assets.model.gold_views import GoldView
from lake_assets.model.origins import OriginColumns
from lake_assets.model.routes import Route

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
    views: Iterable[GoldView], origin: OriginColumns, routes: Iterable[Route]
) -> None:
    """Refuse tombstones that would not say which row they delete, when, or of which table.

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
        for route in routes:
            if route.plain_column is None:
                message = f"tombstones: their key must say where they go, and {route.what} is no "
                message += "column of it\nroute by a column of `by`"
                raise ValueError(message)
            if route.plain_column not in keyed.by:
                message = "tombstones: their key must say where they go, so "
                message += f"{route.plain_column} belongs to `by`"
                raise ValueError(message)
        if keyed.by != tombstone_columns(taking):
            message = f"tombstones: {taking[0].name} and {view.name} read other columns from a key"
            raise ValueError(message)


_ALL_BUT = re.compile(r"\*(?:\s*except\s*\((?P<names>.*)\))?", re.IGNORECASE | re.DOTALL)


def refuse_unmarked_tombstones(
    views: Iterable[GoldView], select: Sequence[str], transform: str | None
) -> None:
    """Refuse what would take tombstones' mark from them, and make rows of nulls of them.

    Args:
        views: of a feed.
        select: its items.
        transform: its function.

    Raises:
        ValueError: it does.
    """
    if not tombstone_columns(views):
        return
    if transform is not None:
        message = f"tombstones: they have no values for {transform}\nleave out `transform`"
        raise ValueError(message)
    if select and not any(map(_gives_mark, select)):
        message = f"tombstones: `select` has not the column that tells them\nadd {TOMBSTONE}"
        raise ValueError(message)


def _gives_mark(item: str) -> bool:
    """Whether an item of `select` has the mark as it is."""
    found = _ALL_BUT.fullmatch(item)
    names = item if found is None else found["names"] or ""
    is_named = TOMBSTONE in (name.strip(" `\n\t").lower() for name in names.split(","))
    return is_named if found is None else not is_named
