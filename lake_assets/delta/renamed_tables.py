"""Tables that a feed has in a lake under other names than its `tables` gives them now.

A table does not move when the feed's declaration changes. What is in it would seem lost, since the
streams go on from where they are, so whoever writes asks here first. Whose a table is, it records
(`delta.table_owners`).
"""

import logging
from collections.abc import Iterable, Mapping

from lake_assets.delta.catalog import keys_found, keys_of
from lake_assets.delta.table_log import drop_table
from lake_assets.delta.table_owners import owner_of, owners_in
from lake_assets.errors import FeedError
from lake_assets.model.feeds import Feed
from lake_assets.model.flows import tables_owner
from lake_assets.model.owners import Owner, claims_of
from lake_assets.model.tables import Layer, TableRef
from lake_assets.storage.store import Store

_LOG = logging.getLogger(__name__)


def renamed_tables(lake: Store, feed: Feed, layer: Layer) -> dict[TableRef, TableRef]:
    """By table of the feed that is called otherwise now, what its key or view would have instead.

    Args:
        lake: where the tables are.
        feed: whose tables; gold of views or keys that it has no more does not matter, since
            nothing derives it again.
        layer: silver or gold.

    Raises:
        LakeError: a table's log cannot be read.
    """
    owners = {
        table: owner
        for table, owner in owners_in(lake, layer).items()
        if owner is not None and owner.feed == _holder(feed, layer)
    }
    keys = {*feed.keys, *keys_of(lake, feed)} if owners else ()
    named = {
        table: _table_now(feed, owner)
        for table, owner in owners.items()
        if not owner.view or owner.key in keys
    }
    return {table: now for table, now in named.items() if now is not None and now != table}


def _holder(feed: Feed, layer: Layer) -> str:
    """Whose the feed's tables of a layer are."""
    return tables_owner(feed) if layer is Layer.SILVER else feed.feed


def _table_now(feed: Feed, owner: Owner) -> TableRef | None:
    """What an owner's table is called now; None if the feed has no such table any more."""
    if not owner.key:
        return None  # names of views over all keys do not change
    if not owner.view:
        return feed.silver_table(owner.key)
    views = (view for view in feed.gold if view.name == owner.view and not view.is_over_all)
    return next((feed.gold_table(view, owner.key) for view in views), None)


def ensure_none_renamed(lake: Store, feed: Feed, *layers: Layer) -> None:
    """Refuse a feed that would have other tables than those it has.

    Raises:
        FeedError: names a table and what it would be called, and says what to do.
        LakeError: a table's log cannot be read.
    """
    for layer in layers:
        renamed = movable_tables(lake, feed, layer)
        if renamed:
            table, now = next(iter(renamed.items()))
            others = f" (and {len(renamed) - 1} more)" if len(renamed) > 1 else ""
            raise FeedError(
                f"feed {feed.feed!r}",
                f"the lake has {table.name}, which would be {now.name} by its `tables`{others}",
                f"Put `tables` back, or run `lake-assets rebuild {layer}` for all keys, which "
                "derives the tables under the new names and drops those under the old ones",
            )


def movable_tables(lake: Store, feed: Feed, layer: Layer) -> dict[TableRef, TableRef]:
    """As `renamed_tables`, where no new name is still that of another table of the feed.

    Nothing can be derived into such a table before the other one is dropped.

    Raises:
        FeedError: names both owners and the table, and says what to do.
        LakeError: a table's log cannot be read.
    """
    renamed = renamed_tables(lake, feed, layer)
    if not renamed:
        return {}
    keys = keys_of(lake, feed) if layer is Layer.GOLD else keys_found(lake, feed)
    for table, owner in claims_of(feed, keys):
        holder = owner_of(lake, table) if table.layer is layer else None
        if holder is not None and holder.feed == _holder(feed, layer) and holder != owner:
            raise FeedError(
                f"feed {feed.feed!r}",
                f"its `tables` call the table of {owner} {table.name}, "
                f"which is that of {holder} still",
                "Put `tables` back or choose other names; to get to these, first choose names "
                f"that no table has, run `lake-assets rebuild {layer}` for all keys, and then "
                "change `tables` to these",
            )
    return renamed


def superseded_tables(lake: Store, renamed: Mapping[TableRef, TableRef]) -> list[TableRef]:
    """Those of `renamed_tables` whose owner has the table that it would have instead.

    Raises:
        LakeError: a table's log cannot be read.
    """
    return [table for table, now in renamed.items() if owner_of(lake, now) == owner_of(lake, table)]


def drop_tables(lake: Store, tables: Iterable[TableRef]) -> None:
    """Delete tables whose rows are in others by now; only `superseded_tables` may be.

    Raises:
        LakeError: a folder cannot be deleted.
    """
    for table in tables:
        drop_table(lake, table)
        told = "dropped %s, which has another name now"
        _LOG.info(told, table.relative, extra={"table": table.name})
