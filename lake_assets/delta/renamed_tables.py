"""Tables that a feed has in a lake under other names than its `tables` gives them now.

A table does not move when the feed's declaration changes. What is in it would seem lost, since the
streams go on from where they are, so whoever writes asks here first. Whose a table is, it records
(`delta.table_owners`).
"""

import logging
import shutil
from collections.abc import Iterable
from pathlib import Path

from lake_assets.delta.table_owners import owners_in
from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.owners import Owner
from lake_assets.model.tables import Layer, TableRef

_LOG = logging.getLogger(__name__)


def renamed_tables(lake: Path, feed: Feed, layer: Layer) -> dict[TableRef, TableRef]:
    """By table of the feed that is called otherwise now, what its key or view would have instead.

    Args:
        lake: where the tables are.
        feed: whose tables; views that it does not declare do not matter.
        layer: silver or gold.

    Raises:
        LakeError: a table's log cannot be read.
    """
    named = {
        table: _table_now(feed, owner)
        for table, owner in owners_in(lake, layer).items()
        if owner is not None and owner.feed == feed.feed
    }
    return {table: now for table, now in named.items() if now is not None and now != table}


def _table_now(feed: Feed, owner: Owner) -> TableRef | None:
    """What an owner's table is called now; None if the feed has no such table any more."""
    if not owner.key:
        return None  # names of views over all keys do not change
    if not owner.view:
        return feed.silver_table(owner.key)
    views = (view for view in feed.gold if view.name == owner.view and not view.is_over_all)
    return next((feed.gold_table(view, owner.key) for view in views), None)


def ensure_none_renamed(lake: Path, feed: Feed, *layers: Layer) -> None:
    """Refuse a feed that would have other tables than those it has.

    Raises:
        FeedError: names a table and what it would be called, and says what to do.
        LakeError: a table's log cannot be read.
    """
    for layer in layers:
        renamed = renamed_tables(lake, feed, layer)
        if renamed:
            table, now = next(iter(renamed.items()))
            others = f" (and {len(renamed) - 1} more)" if len(renamed) > 1 else ""
            raise FeedError(
                f"feed {feed.feed!r}",
                f"the lake has {table.name}, which would be {now.name} by its `tables`{others}",
                f"Put `tables` back, or run `lake-assets rebuild {layer}` for all keys, which "
                "derives the tables under the new names and drops those under the old ones",
            )


def drop_tables(lake: Path, tables: Iterable[TableRef]) -> None:
    """Delete tables whose rows are in others by now; one that is dropped half is no table.

    Raises:
        OSError: a folder cannot be deleted.
    """
    for table in tables:
        folder = table.path(lake)
        # Without its log it is none, so that nobody reads what a kill leaves of it.
        (folder / "_delta_log").rename(folder / "_dropped_log")
        shutil.rmtree(folder)
        _LOG.info("dropped %s, which has another name now", table.relative)
